"""Comparison tables: variants by lengths, in Markdown and CSV."""

import csv
import io
import itertools
from pathlib import Path
from typing import Any

from pe_lab.analysis.metrics import BITS, BITS_SLIDING, FLOOR_CORRECTED
from pe_lab.analysis.results import Results, Variant

DASH = "–"
_TEXT = {BITS: "Bits a token of text", BITS_SLIDING: "Bits a token, second half of each window"}


def write(results: Results, folder: Path) -> str:
    """Writes folder/table.md and folder/table.csv; returns the first table as text."""
    (folder / "table.md").write_text(markdown(results), encoding="utf-8")
    (folder / "table.csv").write_text(as_csv(results), encoding="utf-8")
    return means(results, results.offsets[0], headline(results)) if results.finished else f"no run has finished yet: {_counts(results)}"


def markdown(results: Results) -> str:
    """The whole page: means, then every seed, for each offset."""
    if not results.finished:
        return f"# {results.name}\n\nNo run has finished yet: {_counts(results)}.\n"
    parts = [f"# {results.name}: exact match by length", _legend(results)]
    for offset in results.offsets:
        shift = f", positions shifted by {offset}" if offset else ""
        for metric, title in _TEXT.items() if results.has_text else ():
            parts += [f"## {title}, mean over seeds{shift}", means(results, offset, metric)]
        parts += [f"## Mean over seeds{shift}", means(results, offset), f"## Every seed{shift}", seeds(results, offset)]
        parts += [f"## Token accuracy over the floor, mean over seeds{shift}", means(results, offset, FLOOR_CORRECTED)]
    return "\n\n".join(parts) + "\n"


def headline(results: Results) -> str:
    """The metric that a study is looked at for first."""
    return BITS if results.has_text else "exact_match"


def means(results: Results, offset: int, metric: str = "exact_match") -> str:
    """One row a variant: how many runs learnt the task, the mean of a metric at each length; the floors of accuracies."""
    header = ["variant", "learnt", *_length_names(results)]
    rows = [
        [_name(v), _learnt(v), *(_beyond(results, v, n) + _number(v.mean(n, offset, metric)) for n in results.lengths)]
        for v in results.variants
    ]
    for task in results.tasks if metric in ("exact_match", "token_accuracy") else ():
        name = "floor (sees no prompt)" if len(results.tasks) == 1 else f"floor of {task} (sees no prompt)"
        rows.append([name, "", *(_number(results.floor(n, metric, task)) for n in results.lengths)])
    return _align([header, *rows])


def seeds(results: Results, offset: int) -> str:
    """One row a run."""
    header = ["variant", "seed", "status", *_length_names(results)]
    rows = []
    for variant in results.variants:
        for i, record in enumerate(variant.runs):
            values = [_number(variant.values(n, offset)[i]) for n in results.lengths]
            rows.append([variant.name, str(record["replica"]["seed"]), record["status"], *values])
    return _align([header, *rows])


def as_csv(results: Results) -> str:
    """One row a variant, offset and metric: runs, finished, learnt, then for each length the mean and every run."""
    width = max((len(v.runs) for v in results.variants), default=0)
    per_length = [f"{n} {what}" for n in results.lengths for what in ("mean", *(f"run {i}" for i in range(width)))]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["variant", "offset", "metric", "runs", "finished", "learnt", "target_length_known", *per_length])
    for offset, metric in itertools.product(results.offsets, (*(_TEXT if results.has_text else ()), "exact_match", FLOOR_CORRECTED)):
        for v in results.variants:
            numbers: list[Any] = []
            for n in results.lengths:
                values = v.values(n, offset, metric)
                numbers += [v.mean(n, offset, metric), *values, *[None] * (width - len(values))]
            writer.writerow([v.name, offset, metric, len(v.runs), len(v.finished), v.learnt, v.target_length_known, *numbers])
    return text.getvalue()


def _legend(results: Results) -> str:
    longest = ", ".join(map(str, results.max_lengths))
    lines = [
        f"Lengths are in {results.length_name}; training ended at {longest}. Exact match: every token of the answer, "
        "its end included, is right, on the same examples for every run.",
        "*learnt* counts the runs whose mean validation exact match up to the training length reaches the task's "
        "threshold; where it is not all of them, longer lengths say little about extrapolation.",
        "*Token accuracy over the floor* is (accuracy − floor) / (1 − floor), where the floor knows the most frequent symbol of each "
        "place at that length and sees no prompt: 0 is no better than that. "
        f"{DASH}: no number, because the encoding or the positions end before this length, the run did not finish, "
        "or nobody has measured it.",
    ]
    if results.has_text:
        lines.append(
            "*Bits a token of text* (a byte, for bytes): of windows side by side, every place counts; of the second half of each, "
            "as of a window that slides by half its length, where no window is shorter than the others. Less is better."
        )
    if any(v.target_length_known for v in results.variants):
        lines.append("†: the model is told how long the answer is, by its positions or its layout; not to be ranked with the others.")
    if results.missing:
        lines.append(f"{_runs(results.missing)} no record yet.")
    return "\n".join(f"- {line}" for line in lines)


def _name(variant: Variant) -> str:
    return f"{variant.name} †" if variant.target_length_known else variant.name


def _learnt(variant: Variant) -> str:
    words = f"{variant.learnt}/{len(variant.runs)}"
    if variant.runs and not variant.learnt:
        words += " not learnt"
    for status in ("diverged", "failed"):
        if count := sum(r["status"] == status for r in variant.runs):
            words += f", {count} {status}"
    return words


def _counts(results: Results) -> str:
    statuses = [r["status"] for v in results.variants for r in v.runs]
    words = [f"{statuses.count(s)} {s}" for s in ("diverged", "failed") if s in statuses]
    return ", ".join([*words, f"{_runs(results.missing)} no record"])


def _runs(count: int) -> str:
    return f"{count} run has" if count == 1 else f"{count} runs have"


def _length_names(results: Results) -> list[str]:
    """Lengths, those beyond training with an arrow if all variants were trained equally long."""
    return [f"→{n}" if len(results.max_lengths) == 1 and n > results.max_lengths[0] else f"{n}" for n in results.lengths]


def _beyond(results: Results, variant: Variant, length: int) -> str:
    """The arrow of a number beyond its own training, where training lengths differ."""
    return "→" if len(results.max_lengths) > 1 and variant.finished and length > variant.max_length else ""


def _number(value: float | None) -> str:
    if value is None:
        return DASH
    return f"{value:.2f}" if value < 0.995 or value >= 1 else f"{min(value, 0.999):.3f}"


def _align(rows: list[list[str]]) -> str:
    """A Markdown table whose columns line up as text too."""
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    header, *body = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in rows]
    return "\n".join([header, "|" + "|".join("-" * (w + 2) for w in widths) + "|", *body])
