"""Tables that compare two studies at each variant, length and offset that both have."""

import json
from collections.abc import Sequence

from pe_lab.results import compare, metrics, statistics
from pe_lab.results.formats import Cell, Table, decimals, difference, number
from pe_lab.results.metrics import BITS
from pe_lab.results.study import Study
from pe_lab.runs.studies.analysis_spec import MetricPoint, MetricSpec

# These groups and seeds do not tell two variants apart.
_NOT_COMPARED = ("seed", "data_seed", "evaluate", "checkpoints", "execution")


def tables(study: Study, other: Study) -> list[Table]:
    """Return a table for each offset that both studies have.

    Without such an offset, or without a common variant, the table has no rows and a note says so.
    """
    lengths = [length for length in study.lengths if length in other.lengths]
    offsets = [offset for offset in study.offsets if offset in other.offsets]
    if not offsets:
        return [_table(study, other, study.offsets[0], [])]
    return [_table(study, other, offset, lengths) for offset in offsets]


def _table(study: Study, other: Study, offset: int, lengths: Sequence[int]) -> Table:
    metric = BITS if study.has_text and other.has_text else "exact_match"
    if study.headline == other.headline:
        metric = study.headline
    matched = _matched(study, other)
    rows = []
    for a, b in matched:
        for length in lengths:
            at_point = MetricSpec(metric, MetricPoint(length=length, offset=offset))
            rows.append(_row(study, a, other, b, at_point))
    shift = f", positions shifted by {offset}" if offset else ""
    header = ("variant", "length", study.name, other.name, "difference", "pairs", "caveats")
    caption = (
        f"{study.name} minus {other.name}: medians over seeds, and the mean difference of "
        f"runs of the same seeds."
    )
    return Table(
        f"{study.name} against {other.name}{shift}",
        caption,
        header,
        tuple(rows),
        tuple(_notes(study, other, matched, lengths)),
    )


def _matched(study: Study, other: Study) -> list[tuple[str, str]]:
    """Pairs of variants with the same name, or else with the same settings apart from seeds."""
    by_settings = {}
    for name in other.by_name:
        settings = _settings(other, name)
        if settings is not None:
            by_settings[settings] = name
    pairs = []
    for name in study.by_name:
        partner = by_settings.get(_settings(study, name) or "")
        partner = name if name in other.by_name else partner
        if partner is not None:
            pairs.append((name, partner))
    return pairs


def _settings(study: Study, name: str) -> str | None:
    """The settings that determine the weights, and the override; None before there is a run."""
    cases = study.cases_of(name)
    if cases.empty:
        return None
    config = cases["config"].iloc[0]
    settings = {key: value for key, value in config.items() if key not in _NOT_COMPARED}
    return json.dumps([settings, study.by_name[name]["override"]], sort_keys=True)


def _row(study: Study, a: str, other: Study, b: str, metric: MetricSpec) -> tuple[Cell, ...]:
    values_a = compare.by_seed(study, a, metric)
    values_b = compare.by_seed(other, b, metric)
    shared_seeds = [seed for seed in values_a if seed in values_b]
    differences = [values_a[seed] - values_b[seed] for seed in shared_seeds]
    mean = statistics.mean(differences)
    interval = compare.of_differences(differences, metric.name)
    length = metric.point.length
    return (
        Cell(a if a == b else f"{a} / {b}"),
        Cell(str(length), length),
        _median(list(values_a.values()), metric.name),
        _median(list(values_b.values()), metric.name),
        Cell(difference(mean, interval, decimals(metrics.BY_NAME[metric.name].style)), mean),
        Cell(str(len(differences)), len(differences)),
        Cell(_caveats(study, a, other, b)),
    )


def _median(values: Sequence[float], metric: str) -> Cell:
    median = statistics.median(values)
    return Cell(f"{number(median, metrics.BY_NAME[metric].style)} ({len(values)})", median)


def _caveats(study: Study, a: str, other: Study, b: str) -> str:
    """Reasons why the difference may not compare the two variants alone."""
    row_a, row_b = study.by_name[a], other.by_name[b]
    caveats = []
    if set(study.cases_of(a)["run_id"]) == set(other.cases_of(b)["run_id"]):
        caveats.append("the same runs")
    if _settings(study, a) != _settings(other, b):
        caveats.append("settings")
    if row_a["max_length"] != row_b["max_length"]:
        caveats.append("training length")
    if row_a["reveals_target_length"] != row_b["reveals_target_length"]:
        caveats.append("reveals the target length")
    if row_a["task_name"] != row_b["task_name"]:
        caveats.append("task")
    for row, words in ((row_a, "the first"), (row_b, "the second")):
        if row["runs"] and row["is_unsolved"]:
            caveats.append(f"not solved in {words}")
    return ", ".join(caveats) or "–"


def _notes(
    study: Study, other: Study, matched: Sequence[tuple[str, str]], lengths: Sequence[int]
) -> list[str]:
    notes = [
        f"(n): number of seeds with a value. Differences have intervals from "
        f"{statistics.EXACT_FROM} pairs on, which are not adjusted for their number."
    ]
    names = {name for pair in matched for name in pair}
    for this, partner in ((study, other), (other, study)):
        unmatched = [name for name in this.by_name if name not in names]
        if unmatched:
            notes.append(f"In {this.name} alone: {', '.join(unmatched)}.")
        more_lengths = [str(n) for n in this.lengths if n not in partner.lengths]
        if more_lengths:
            notes.append(f"Lengths in {this.name} alone: {', '.join(more_lengths)}.")
    if not matched or not lengths:
        notes.append("The studies have no variant, length and offset in common.")
    return notes
