import matplotlib
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot

from pe_lab.results import frame, plots
from pe_lab.results.plots import drawing


@pytest.fixture
def drawn(monkeypatch):
    """Draw a study and return its figures by name, none of which is written."""
    figures = {}

    def keep(figure, files, *, few_colors):
        figures[files[0].stem] = figure
        pyplot.close(figure)

    monkeypatch.setattr(drawing, "save", keep)

    def draw(folder, **options):
        figures.clear()
        paths = plots.write(frame.read(folder), folder, **options)
        assert paths == [folder / f"{name}.png" for name in figures]
        return dict(figures)

    return draw
