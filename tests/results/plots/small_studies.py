"""Small studies to draw, and the lines of their pictures."""

from matplotlib.colors import to_hex

from tests.results import synthetic
from tests.results.fake_study import point, record, write_study

TRAINING, CHANCE = "training length", "chance level"


def small(folder, **more):
    """Write a study of two encodings and two seeds, in which nothing else varies."""
    values = dict(
        encodings=("rope", "alibi"), seeds=2, rates=(), tasks=(), schemes=(), offsets=(0,)
    )
    return synthetic.write(folder, **{**values, **more})


def many(folder, count, reveals=0):
    """Write a study of more variants than colors; the last ones reveal the target length."""
    entries = []
    for i in range(count):
        values = dict(test={4: 1.0, 8: i / 100}, validation={4: 1.0})
        run = record(f"r{i}", **values, reveals=i >= count - reveals)
        entries.append((point(f"mine_{i}", 0), run))
    return write_study(folder, *entries)


def medians(axis):
    """The thick lines with their marks."""
    return [line for line in axis.lines if line.get_zorder() == 3]


def colors(axis):
    return [to_hex(line.get_color()) for line in medians(axis)]


def looks(figure, number=0):
    """The colors and markers of the lines of one of the axes."""
    axis = figure.axes[number]
    markers = [line.get_marker() for line in medians(axis)]
    return list(zip(colors(axis), markers, strict=True))
