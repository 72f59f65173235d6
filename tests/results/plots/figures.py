"""What is in a figure, as a reader sees it."""


def panels(figure):
    """The axes that are not empty."""
    return [axis for axis in figure.axes if axis.axison]


def xy(line):
    return list(line.get_xdata()), list(line.get_ydata())


def legend(figure):
    return [" ".join(text.get_text().split()) for text in figure.legends[0].get_texts()]


def caption(figure):
    return " ".join(figure.get_supxlabel().split())
