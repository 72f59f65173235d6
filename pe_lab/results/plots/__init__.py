"""Pictures of a study as PNG, on request also as PDF; only those that its records have numbers for.

exact_match           a panel a variant: seeds, their centre and its interval against length
                      (bits_per_token for a text)
heat_map              variants x lengths
length_by_offset      a map a variant of lengths x offsets of positions
extrapolation         how many runs are solved and extrapolate, with Wilson's intervals
training_exact_match  validation during training, beyond the training length too
training_loss         the loss while they trained
learning_rate         exact match against the learning rate, where rates vary
table_1, table_2, …   the tables of the analysis spec: lines if columns are numbers, else maps
cost                  exact match against FLOPs and parameters, where these differ

An encoding has one colour and one marker in all of them: styles.py.
"""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pe_lab.results import selection
from pe_lab.results.plots import drawing, lengths, outcomes, rates, spec_tables, training
from pe_lab.results.results import Results

_OF_ALL: Mapping[str, Callable[[Results], Any]] = {
    "training_exact_match": training.exact_match,
    "training_loss": training.loss,
    "learning_rate": rates.learning_rate,
}
_OF_CHOSEN: Mapping[
    str, Callable[[Results], Any]
] = {  # of what validation chose, where something is tuned
    "exact_match": lengths.exact_match,
    "bits_per_token": lengths.bits_per_token,
    "heat_map": lengths.heat_map,
    "length_by_offset": lengths.length_by_offset,
    "extrapolation": outcomes.extrapolation,
    "cost": outcomes.cost,
}


def write(results: Results, folder: Path, *, pdf: bool = False) -> list[Path]:
    """Draws what there are numbers for into a folder, and takes away what there are none for any
    more.

    Args:
      pdf: write each picture as PDF too.

    Returns:
      The PNGs. Empty before a run has finished.
    """
    chosen = selection.chosen(results)
    tables = enumerate(results.spec.tables, start=1)
    asked: dict[str, Callable[[Results], Any]] = {
        f"table_{i}": functools.partial(spec_tables.table, asked=table) for i, table in tables
    }
    kinds = [
        (name, draw, of)
        for of, figures in ((chosen, {**_OF_CHOSEN, **asked}), (results, _OF_ALL))
        for name, draw in figures.items()
    ]
    suffixes = (".png", ".pdf") if pdf else (".png",)
    drawn = []
    with drawing.settings():
        for name, draw, of in kinds:
            figure = draw(of) if of.finished else None
            if figure is not None:
                drawing.save(figure, [folder / f"{name}{suffix}" for suffix in suffixes])
                drawn.append(name)
    for stem in {
        *_OF_CHOSEN,
        *_OF_ALL,
        *(file.stem for file in folder.glob("table_*.p*")),
    }.difference(drawn):
        for suffix in drawing.SUFFIXES:
            (folder / f"{stem}{suffix}").unlink(missing_ok=True)
    if not pdf:
        # A PDF of an earlier call would show other numbers than the PNG.
        for name in drawn:
            (folder / f"{name}.pdf").unlink(missing_ok=True)
    return [folder / f"{name}.png" for name in drawn]
