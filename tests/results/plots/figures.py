"""What is in a figure, as a reader sees it."""

import itertools


def panels(figure):
    """The axes that are not empty."""
    return [axis for axis in figure.axes if axis.axison]


def xy(line):
    return list(line.get_xdata()), list(line.get_ydata())


def dots(axis):
    """The dots of single runs as [x, y], which stand side by side in the picture."""
    drawn = [zip(*xy(line), strict=True) for line in axis.lines if line.get_marker() == "."]
    return sorted(itertools.chain(*drawn))


def legend(figure):
    return [" ".join(text.get_text().split()) for text in figure.legends[0].get_texts()]


def caption(figure):
    return " ".join(figure.get_supxlabel().split())
