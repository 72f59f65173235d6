"""Tables that compare two studies at each variant, length and offset that both have."""

import json
from collections.abc import Sequence

from pe_lab.results import cells, compare, statistics
from pe_lab.results.formats import Cell, Table
from pe_lab.results.metrics import BITS
from pe_lab.results.results import Results, Variant
from pe_lab.runs.analysis_spec import MetricPoint, MetricSpec

# These groups and seeds do not tell two variants apart.
_NOT_COMPARED = ("seed", "data_seed", "evaluate", "checkpoints", "execution")


def tables(results: Results, other: Results) -> list[Table]:
    """Return a table for each offset that both studies have.

    Without such an offset, or without a common variant, the table has no rows and a note says so.
    """
    lengths = [length for length in results.lengths if length in other.lengths]
    offsets = [offset for offset in results.offsets if offset in other.offsets]
    if not offsets:
        return [_table(results, other, results.offsets[0], [])]
    return [_table(results, other, offset, lengths) for offset in offsets]


def _table(results: Results, other: Results, offset: int, lengths: Sequence[int]) -> Table:
    metric = BITS if results.has_text and other.has_text else "exact_match"
    matched = _matched(results, other)
    rows = []
    for a, b in matched:
        for length in lengths:
            rows.append(_row(a, b, MetricPoint(length=length, offset=offset), metric))
    shift = f", positions shifted by {offset}" if offset else ""
    header = ("variant", "length", results.name, other.name, "difference", "pairs", "caveats")
    caption = (
        f"{results.name} minus {other.name}: medians over seeds, and the mean difference of "
        f"runs of the same seeds."
    )
    return Table(
        f"{results.name} against {other.name}{shift}",
        caption,
        header,
        tuple(rows),
        tuple(_notes(results, other, matched, lengths)),
    )


def _matched(results: Results, other: Results) -> list[tuple[Variant, Variant]]:
    """Pairs of variants with the same name, or else with the same settings apart from seeds."""
    by_name = {variant.name: variant for variant in other.variants}
    by_settings = {}
    for variant in other.variants:
        settings = _settings(variant)
        if settings is not None:
            by_settings[settings] = variant
    pairs = []
    for variant in results.variants:
        partner = by_name.get(variant.name) or by_settings.get(_settings(variant) or "")
        if partner is not None:
            pairs.append((variant, partner))
    return pairs


def _settings(variant: Variant) -> str | None:
    """The settings that determine the weights, and the override; None before there is a run."""
    if not variant.runs:
        return None
    config = variant.runs[0]["config"]
    settings = {key: value for key, value in config.items() if key not in _NOT_COMPARED}
    return json.dumps([settings, variant.override], sort_keys=True)


def _row(a: Variant, b: Variant, point: MetricPoint, metric: str) -> tuple[Cell, ...]:
    values_a = compare.by_seed(a, MetricSpec(metric, point))
    values_b = compare.by_seed(b, MetricSpec(metric, point))
    shared_seeds = [seed for seed in values_a if seed in values_b]
    differences = [values_a[seed] - values_b[seed] for seed in shared_seeds]
    mean = statistics.mean(differences)
    difference = cells.signed(mean)
    interval = compare.of_differences(differences)
    if interval is not None:
        difference += f" [{cells.signed(interval.low)}, {cells.signed(interval.high)}]"
    name = a.name if a.name == b.name else f"{a.name} / {b.name}"
    return (
        Cell(name),
        Cell(str(point.length), point.length),
        _median(list(values_a.values()), metric),
        _median(list(values_b.values()), metric),
        Cell(difference, mean),
        Cell(str(len(differences)), len(differences)),
        Cell(_caveats(a, b)),
    )


def _median(values: Sequence[float], metric: str) -> Cell:
    median = statistics.median(values)
    return Cell(f"{cells.number(median, metric)} ({len(values)})", median)


def _caveats(a: Variant, b: Variant) -> str:
    """Reasons why the difference may not compare the two variants alone."""
    caveats = []
    if {record["run_id"] for record in a.runs} == {record["run_id"] for record in b.runs}:
        caveats.append("the same runs")
    if _settings(a) != _settings(b):
        caveats.append("settings")
    if a.max_length != b.max_length:
        caveats.append("training length")
    if a.reveals_target_length != b.reveals_target_length:
        caveats.append("reveals the target length")
    if a.task != b.task:
        caveats.append("task")
    for variant, study in ((a, "the first"), (b, "the second")):
        if variant.runs and not variant.solved:
            caveats.append(f"not solved in {study}")
    return ", ".join(caveats) or "–"


def _notes(
    results: Results,
    other: Results,
    matched: Sequence[tuple[Variant, Variant]],
    lengths: Sequence[int],
) -> list[str]:
    notes = [
        f"(n): number of seeds with a value. Differences have intervals from "
        f"{statistics.EXACT_FROM} pairs on, which are not adjusted for their number."
    ]
    names = {variant.name for pair in matched for variant in pair}
    for study, partner in ((results, other), (other, results)):
        unmatched = [variant.name for variant in study.variants if variant.name not in names]
        if unmatched:
            notes.append(f"In {study.name} alone: {', '.join(unmatched)}.")
        more_lengths = [str(n) for n in study.lengths if n not in partner.lengths]
        if more_lengths:
            notes.append(f"Lengths in {study.name} alone: {', '.join(more_lengths)}.")
    if not matched or not lengths:
        notes.append("The studies have no variant, length and offset in common.")
    return notes
