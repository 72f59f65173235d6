"""The comparison of two studies: cells of the same variant, length and offset."""

import json

from pe_lab.results import cells, compare, statistics
from pe_lab.results.formats import Cell, Table
from pe_lab.results.metrics import BITS
from pe_lab.results.results import Results, Variant
from pe_lab.runs.analysis_spec import Metric, MetricPoint

_NO_SETTINGS = ("seed", "data_seed", "evaluate", "checkpoints", "execution")


def tables(results: Results, other: Results) -> list[Table]:
    """One table an offset that both have; empty of rows where nothing matches."""
    offsets = [offset for offset in results.offsets if offset in other.offsets]
    return [_table(results, other, offset) for offset in offsets or [results.offsets[0]]]


def _table(results: Results, other: Results, offset: int) -> Table:
    metric = BITS if results.has_text and other.has_text else "exact_match"
    matched = _matched(results, other)
    lengths = [n for n in results.lengths if n in other.lengths]
    rows = [_row(a, b, n, offset, metric) for a, b in matched for n in lengths]
    shift = f", positions shifted by {offset}" if offset else ""
    header = ("variant", "length", results.name, other.name, "difference", "pairs", "beware")
    caption = (
        f"{results.name} minus {other.name}: medians over seeds, and the mean difference of "
        f"runs of the same seeds."
    )
    return Table(
        f"{results.name} against {other.name}{shift}",
        caption,
        header,
        tuple(rows),
        _notes(results, other, matched, lengths),
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
    settings = {key: value for key, value in config.items() if key not in _NO_SETTINGS}
    return json.dumps([settings, variant.override], sort_keys=True)


def _row(a: Variant, b: Variant, length: int, offset: int, metric: str) -> tuple[Cell, ...]:
    asked = Metric(metric, MetricPoint(length=length, offset=offset))
    of_a, of_b = compare.by_seed(a, asked), compare.by_seed(b, asked)
    differences = [of_a[seed] - of_b[seed] for seed in of_a if seed in of_b]
    mean, interval = statistics.mean(differences), compare.of_differences(differences)
    within = (
        ""
        if interval is None
        else f" [{cells.signed(interval.low)}, {cells.signed(interval.high)}]"
    )
    middles = [statistics.median(list(values.values())) for values in (of_a, of_b)]
    return (
        Cell(a.name if a.name == b.name else f"{a.name} / {b.name}"),
        Cell(str(length), length),
        *(
            Cell(f"{cells.number(middle, metric)} ({len(values)})", middle)
            for middle, values in zip(middles, (of_a, of_b), strict=True)
        ),
        Cell(f"{cells.signed(mean)}{within}", mean),
        Cell(str(len(differences)), len(differences)),
        Cell(_differ(a, b)),
    )


def _differ(a: Variant, b: Variant) -> str:
    """What the difference does not tell: no new runs, other settings, an unsolved side."""
    apart = [
        ("settings", _settings(a) != _settings(b)),
        ("training length", a.max_length != b.max_length),
        ("reveals the target length", a.reveals_target_length != b.reveals_target_length),
        ("task", a.task != b.task),
    ]
    unsolved = [
        f"not solved in {side}"
        for v, side in ((a, "the first"), (b, "the second"))
        if v.runs and not v.solved
    ]
    same = (
        ["the same runs"] if {r["run_id"] for r in a.runs} == {r["run_id"] for r in b.runs} else []
    )
    return ", ".join([*same, *(words for words, holds in apart if holds), *unsolved]) or "–"


def _notes(
    results: Results, other: Results, matched: list[tuple[Variant, Variant]], lengths: list[int]
) -> tuple[str, ...]:
    names = {v.name for pair in matched for v in pair}
    fewest = statistics.EXACT_FROM
    notes = [
        f"(n): seeds with a number. Intervals of differences from {fewest} pairs up; nothing is "
        f"adjusted for their number."
    ]
    for one, beside in ((results, other), (other, results)):
        if alone := [v.name for v in one.variants if v.name not in names]:
            notes.append(f"In {one.name} alone: {', '.join(alone)}.")
        if more := [str(n) for n in one.lengths if n not in beside.lengths]:
            notes.append(f"Lengths in {one.name} alone: {', '.join(more)}.")
    return (*notes, *([] if matched and lengths else ["No cell is in both."]))
