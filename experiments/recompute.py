"""Recompute the numbers of published tables from their records, without pe_lab.results.

    python -m experiments.recompute [STUDY...]

For each row of table.csv it finds the runs in records.jsonl.gz by their labels in study.json. It
compares their numbers, mean, standard deviation, median and interquartile mean, and the counts of
runs and of finished ones. Bits per byte of a text are computed from the loss at each index. It
imports nothing of pe_lab but the command line and its errors. Rows with evaluation overrides, and
metrics that have one number a run (such as L90), are counted as left out. Exit status: 0; 1 if a
number differs by more than 1e-9.
"""

import csv
import gzip
import json
import math
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pe_lab import cli
from pe_lab.cli._arguments import arguments
from pe_lab.runs.errors import unknown
from pe_lab.runs.records.record_schema import JsonObject

PUBLISHED = Path("results/published")
SEEDS = ("data_seed", "seed")  # in the order of the columns
TOLERANCE = 1e-9
LOSSES = "negative_log_likelihood_by_place"
Key = tuple[str, int, int]  # metric, length, offset


@dataclass(frozen=True)
class Options:
    """Arguments of `python -m experiments.recompute`."""

    studies: Sequence[str] = arguments("names of published studies; none: all")


def run(options: Options) -> int:
    published = sorted(table.parent.name for table in PUBLISHED.glob("*/table.csv"))
    for name in options.studies:
        if name not in published:
            raise unknown("results/published", name, published)
    names = options.studies or published
    total: Counter[str] = Counter()
    for name in names:
        counts: Counter[str] = Counter()
        for kind, what in compare(PUBLISHED / name):
            counts[kind] += 1
            if kind == "differs":
                print(f"{name}: {what}")
        print(f"{name}: {counts['equal']} equal, {counts['differs']} differ")
        total += counts
    print(
        f"all: {total['equal']} equal, {total['differs']} differ; {total['left out']} rows left out"
    )
    return 1 if total["differs"] else 0


def compare(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield equal, differs or left out, and what was compared, for each number of table.csv."""
    entries = json.loads((folder / "study.json").read_text(encoding="utf-8"))["entries"]
    records = dict(_records(folder))
    with (folder / "table.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            runs = [run for run in _runs(row, entries) if run in records]
            numbers = _numbers(row, [records[run] for run in runs])
            if row.get("evaluated with") or numbers is None:
                yield "left out", row["variant"]
                continue
            expected = _expected(numbers, [records[run] for run in runs])
            for column, value in expected.items():
                what = f"{row['variant']}, {row['metric']} at {row['length']}: {column}"
                shown = row[column]
                is_equal = _is_equal(shown, value)
                yield (
                    "equal" if is_equal else "differs",
                    what if is_equal else f"{what}: {shown} is {value}",
                )


def _records(folder: Path) -> Iterator[tuple[str, JsonObject]]:
    """Yield the id of each run, with its status and its numbers in the test."""
    with gzip.open(folder / "records.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            numbers: dict[Key, float | None] = {}
            for row in record["rows"]:
                if row["split"] == "test" and row["override"] is None:
                    numbers[row["metric"], row["length"], row["offset"]] = row["value"]
                    if row["metric"] == LOSSES:
                        key = "bits_per_byte", row["length"], row["offset"]
                        numbers[key] = _bits_per_byte(row, record)
            yield record["run_id"], {"status": record["status"], "numbers": numbers}


def _bits_per_byte(row: JsonObject, record: JsonObject) -> float | None:
    """Return the mean loss of the scored bytes of a text in bits; None where there is none.

    Windows that end with the same bytes are scored on the second half of the shortest one.
    """
    config, exposure = record["config"], record["exposure"] or {}
    losses = (row["value"] or [])[: row["length"]]
    if config["task"].get("align") == "end":
        shortest = min(config["evaluate"]["lengths"])
        losses = losses[-max(1, shortest // 2) :] if row["length"] >= shortest else []
    is_of_tokens = "corpus_tokens" in exposure
    bytes_per_symbol = exposure.get("bytes_per_token") if is_of_tokens else {"test": 1.0}
    if not losses or None in losses or bytes_per_symbol is None:
        return None
    return math.fsum(losses) / len(losses) / math.log(2) / bytes_per_symbol["test"]


def _runs(row: dict[str, str], entries: list[JsonObject]) -> list[str]:
    """Return the runs of a row, by seed: those of the entries with its labels."""
    axes = {axis for entry in entries for axis in entry["labels"]} - {*SEEDS}
    runs = {}
    for entry in entries:
        labels = entry["labels"]
        if all(row.get(axis, "") == labels.get(axis, "") for axis in axes):
            runs[entry["run_id"]] = [int(labels[axis]) for axis in SEEDS if labels.get(axis)]
    return sorted(runs, key=lambda run: runs[run])


def _numbers(row: dict[str, str], records: list[JsonObject]) -> list[float] | None:
    """Return the numbers of a row by run; NaN where there is none; None for another kind of row."""
    if not row["length"]:
        return None
    key = row["metric"], int(row["length"]), int(row["offset"])
    if not any(key in record["numbers"] for record in records):
        return None
    values = [record["numbers"].get(key) for record in records]
    return [math.nan if value is None else value for value in values]


def _expected(numbers: list[float], records: list[JsonObject]) -> dict[str, float]:
    """Return the columns of a row that follow from the numbers of its runs."""
    known = [value for value in numbers if not math.isnan(value)]
    expected = {f"run {index}": value for index, value in enumerate(numbers)}
    expected["runs"] = len(records)
    expected["finished"] = sum(record["status"] == "finished" for record in records)
    expected["mean"] = statistics.fmean(known) if known else math.nan
    expected["median"] = statistics.median(known) if known else math.nan
    expected["sd"] = statistics.stdev(known) if len(known) > 1 else math.nan
    expected["interquartile_mean"] = _interquartile_mean(known)
    return expected


def _interquartile_mean(values: list[float]) -> float:
    """Return the mean of the middle half; a value on its border counts in part."""
    if not values:
        return math.nan
    quarter = len(values) / 4
    # Value i of the sorted ones takes the place from i to i + 1.
    parts = [
        max(0.0, min(index + 1, len(values) - quarter) - max(index, quarter))
        for index in range(len(values))
    ]
    pairs = zip(sorted(values), parts, strict=True)
    return math.fsum(value * part for value, part in pairs) / math.fsum(parts)


def _is_equal(shown: str, value: float) -> bool:
    if not shown or math.isnan(value):
        return not shown and math.isnan(value)
    return abs(float(shown) - value) <= TOLERANCE * max(1.0, abs(value))


if __name__ == "__main__":
    cli.main_of(sys.modules[__name__], "python -m experiments.recompute")
