"""Plots of a study, in a size for print. Only those that its records have numbers for.

exact_match          exact match against length (bits_per_byte for a text)
position_offset      exact match at the training length against the offset of all positions
training             exact match against the training step (the loss for a text)
validation_loss      of a text, against the training step
loss_by_index        of a text, against the index in its longest window
learning_rate        exact match against the learning rate (bits_per_byte for a text)
extrapolation        how many runs are solved and extrapolate, with Wilson's intervals
by_num_ones, …       exact match against the value of each attribute of the examples
table_1, table_2, …  tables of the analysis spec that are clearer as a picture

A name has one color, marker and dash in all panels. Many variants are one panel a group.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pe_lab.results import table_summaries
from pe_lab.results.plots import drawing, pictures, plotted, run_pictures, table_pictures
from pe_lab.results.plots.plotted import Plotted
from pe_lab.results.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = (
    "exact_match",
    "bits_per_token",
    "bits_per_byte",
    "validation_loss",
    "loss_by_index",
    "position_offset",
    "training",
    "learning_rate",
    "extrapolation",
)


def write(
    study: Study,
    out: Path,
    *,
    formats: Sequence[str] = ("png",),
    relative: bool = False,
) -> list[Path]:
    """Draw the plots of a study into a folder, and remove plots that have no numbers any more.

    Args:
      formats: of `drawing.FORMATS`; a file for each.
      relative: draw lengths as multiples of the training length.

    Returns:
      The files. None before a run has finished.

    Raises:
      UserError: an unknown format.
    """
    drawing.check_formats(formats)
    files: list[Path] = []
    if study.variants["finished"].any():
        with drawing.settings():
            for name, figure in _figures(plotted.of(study), relative=relative):
                if figure is not None:
                    of_figure = [out / f"{name}.{suffix}" for suffix in formats]
                    # Figures stay in memory until they are saved.
                    drawing.save(figure, of_figure, few_colors=True)
                    files += of_figure
    attributes = study.measured_attributes["attribute"].unique()
    possible = [out / name for name in (*NAMES, *(f"by_{name}" for name in attributes))]
    for path in [*possible, *out.glob("table_[0-9]*")]:
        for suffix in drawing.FORMATS:
            file = path.with_suffix(f".{suffix}")
            if file not in files:
                # A reader would take an old picture for one of these records.
                file.unlink(missing_ok=True)
    return files


def _figures(data: Plotted, *, relative: bool) -> "Iterator[tuple[str, Figure | None]]":
    yield data.study.headline, pictures.by_length(data, relative=relative)
    yield "position_offset", pictures.by_offset(data)
    yield from further_figures(data)


def further_figures(data: Plotted) -> "Iterator[tuple[str, Figure | None]]":
    """Yield the plots after those by length and offset, which are the chart of the report."""
    yield "training", pictures.training(data)
    yield "validation_loss", pictures.validation_loss(data)
    yield "loss_by_index", pictures.loss_by_index(data)
    yield "learning_rate", run_pictures.learning_rate(data)
    yield "extrapolation", run_pictures.counts(data)
    for name in data.study.measured_attributes["attribute"].unique():
        yield f"by_{name}", run_pictures.by_attribute(data, name)
    for number, spec in enumerate(table_summaries.specs(data.with_grids), start=1):
        yield f"table_{number}", table_pictures.table(data, spec)
