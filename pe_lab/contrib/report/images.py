"""The plots of a study as images inside the page."""

import base64
from dataclasses import dataclass

from pe_lab.results import plots
from pe_lab.results.plots import drawing
from pe_lab.results.plots.plotted import Plotted


@dataclass(frozen=True)
class Image:
    """A plot.

    Attributes:
      description: its title and caption, for readers who do not see it.
      source: the SVG as a data URI. An image runs no code and does not change the page's style.
    """

    description: str
    source: str


def of(data: Plotted) -> list[Image]:
    """Return the plots that the page's chart does not show."""
    images = []
    with drawing.settings():
        for _, figure in plots.further_figures(data):
            if figure is None:
                continue
            caption = " ".join(figure.get_supxlabel().split())
            description = f"{figure.get_suptitle()}. {caption}"
            encoded = base64.b64encode(drawing.as_svg(figure)).decode()
            images.append(Image(description, f"data:image/svg+xml;base64,{encoded}"))
    return images
