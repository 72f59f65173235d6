"""Runs that two studies have with different numbers, because of rounding."""

from collections.abc import Sequence

from pe_lab.results.results import Results


def gaps(mine: Results, others: Sequence[Results]) -> dict[str, float]:
    """Return the largest difference of exact match of each run that another study has otherwise."""
    largest: dict[str, float] = {}
    values = _exact_matches(mine)
    for theirs in map(_exact_matches, others):
        for run_id in values.keys() & theirs.keys():
            both = values[run_id].keys() & theirs[run_id].keys()
            differences = [abs(values[run_id][at] - theirs[run_id][at]) for at in both]
            gap = max(differences, default=0.0)
            largest[run_id] = max(gap, largest.get(run_id, 0.0))
    return {run_id: gap for run_id, gap in largest.items() if gap > 0}


def _exact_matches(results: Results) -> dict[str, dict[tuple[int, int], float]]:
    """Return the exact match of each run by length and offset."""
    by_run = {}
    for variant in results.trained:
        for run in variant.measured:
            values = {}
            for (length, offset, metric), row in run.rows.items():
                if metric == "exact_match" and row["value"] is not None:
                    values[length, offset] = row["value"]
            by_run[run.record["run_id"]] = values
    return by_run
