"""Check that the names in an analysis spec exist in the sweep."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from pe_lab.runs.errors import UserError
from pe_lab.runs.settings.declarations import check_keys
from pe_lab.runs.studies.analysis_spec import AS_TRAINED, DIMENSIONS, AnalysisSpec, TableSpec, parts


def check(
    spec: AnalysisSpec,
    points: Sequence[Mapping[str, str]],
    overrides: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> None:
    """Check that the axes and labels of a spec exist in the sweep.

    Args:
      points: labels by axis of each point of the sweep, without seeds.
      overrides: by the label of an evaluation override, its labels on the axes of a grid.

    Raises:
      UserError: an unknown name, with the near names.
    """
    labels = _by_axis(points)
    grid = _by_axis(overrides.values())
    # An empty label is part of no name, and neither are tuned axes.
    known_labels = set(overrides)
    for axis in labels:
        if axis not in spec.tuned:
            known_labels |= labels[axis].keys()
    known_labels.discard("")
    check_keys("The sweep (analysis: tuned)", spec.tuned, labels)
    of_contrasts = [name for contrast in spec.contrasts for name in (contrast.a, contrast.b)]
    of_claims = [name for claim in spec.reproduction.claims for name in (claim.a, claim.b) if name]
    figures = [figure for literature in spec.literature for figure in literature.figures]
    variants = {
        "contrasts": of_contrasts,
        "reproduction": of_claims,
        "literature": [figure.variant for figure in figures],
    }
    for part, names in variants.items():
        for name in names:
            check_keys(f"The sweep (analysis: {part})", parts(name), known_labels)
    for table in spec.tables:
        dimensions = (*labels, *grid, *DIMENSIONS)
        check_keys("The sweep (analysis: tables)", (*table.dimensions, *table.only), dimensions)
        # Lengths and offsets are not listed: more of them may be evaluated later.
        allowed_labels = {
            **labels,
            **grid,
            "variant": known_labels,
            "evaluated with": {AS_TRAINED, *overrides},
        }
        _check_only(table, allowed_labels)
        _check_cells(spec, table, points)


def _check_cells(spec: AnalysisSpec, table: TableSpec, points: Sequence[Mapping[str, str]]) -> None:
    """Check, before anything is trained, that a cell has one variant, or one for each task."""
    tuned = [axis for axis in table.dimensions if axis in spec.tuned]
    title = table.title or f"rows {', '.join(table.rows)}"
    if tuned:
        raise UserError(
            f"analysis(): the table of {title} has the axis {tuned[0]!r}, which is tuned: tables "
            "show the chosen value only."
        )
    if "variant" in (*table.dimensions, *table.only):
        return
    cells: dict[tuple[str, ...], list[Mapping[str, str]]] = {}
    for point in points:
        if any(axis in point and point[axis] not in table.only[axis] for axis in table.only):
            continue
        cell = tuple(point[axis] for axis in table.dimensions if axis in point)
        labels = {axis: label for axis, label in point.items() if axis not in spec.tuned}
        cells.setdefault(cell, []).append(labels)
    for of_cell in cells.values():
        check_cell(table, of_cell)


def check_cell(table: TableSpec, variants: Sequence[Mapping[str, str]]) -> None:
    """Check that a cell has one variant, or one for each task.

    Args:
      variants: the labels by axis of the variants of the cell.

    Raises:
      UserError: there are more.
    """
    differing = []
    for axis in dict.fromkeys(itertools.chain(*variants)):
        labels = {variant.get(axis) for variant in variants}
        if len(labels) > 1 and axis != "task":
            differing.append(repr(axis))
    if differing:
        title = table.title or f"rows {', '.join(table.rows)}"
        raise UserError(
            f"analysis(): the table of {title} leaves several variants in one cell: name "
            f"{', '.join(differing)} too, among rows, columns, each or only."
        )


def _by_axis(points: Iterable[Mapping[str, str]]) -> dict[str, dict[str, None]]:
    """Return the labels of each axis, each once, in the order of the sweep, as errors list them."""
    labels: dict[str, dict[str, None]] = {}
    for point in points:
        for axis, label in point.items():
            labels.setdefault(axis, {})[label] = None
    return labels


def _check_only(table: TableSpec, allowed: Mapping[str, Iterable[str]]) -> None:
    for axis, names in table.only.items():
        if axis not in allowed:
            continue
        for name in names:
            labels = parts(name) if axis == "variant" else [name]
            check_keys(f"The axis {axis!r} (analysis: tables, only)", labels, allowed[axis])
