"""The only reader of a study's folder: from records to the DataFrames of a `Study`.

    from pe_lab.results import frame

    study = frame.read("results/quickstart")
    tests = study.numbers.query("metric == 'exact_match' and split == 'test'")
    tests.pivot_table("value", index="variant", columns="length", aggfunc="median")

It reads the folder of a sweep or of a published study, and needs no JAX. Each record is read,
turned into rows, and forgotten, so that a large study fits into memory.
"""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pe_lab.results import read_analysis_spec, run_rows, selection, variant_names
from pe_lab.results.run_rows import RunRows
from pe_lab.results.study import EVALUATED_WITH, Study
from pe_lab.runs.records import records
from pe_lab.runs.studies import check_analysis_spec, study_files, study_labels
from pe_lab.runs.studies.analysis_spec import AnalysisSpec

_OF_RUNS = ("finished", "diverged", "failed")  # statuses that are counted


def read(folder: str | Path) -> Study:
    """Read the study in a folder.

    Raises:
      UserError: the folder has no study, a record is damaged, or the analysis spec does not fit.
    """
    folder = Path(folder)
    file = study_files.read(folder)
    spec = read_analysis_spec.from_dict(file.analysis)
    run_ids = {run_id for _, run_id in file.entries}
    # A folder may have records of runs that a smaller config no longer names.
    rows = RunRows(spec.extrapolation)
    recorded = set()
    labels_check = study_labels.LabelCheck(folder, file.entries)
    for record in records.each(folder):
        if record["run_id"] in run_ids:
            labels_check.add(record["run_id"], record["config"])
            rows.add(record)
            recorded.add(record["run_id"])
    labels_check.finish()
    runs = rows.runs()
    entries = _entries(file.name, file.entries)
    axes = tuple(variant_names.axes_of(labels for labels, _ in file.entries))
    variants, cases = _variants(entries, axes, runs, rows)
    measured = rows.numbers()
    variants["seen_offsets"] = _seen_offsets(variants, measured, spec)
    variants["repeated"] = _repeated(variants, cases, measured)
    study = Study(
        name=file.name,
        spec=spec,
        axes=axes,
        variants=variants,
        cases=cases,
        measured=measured,
        measured_curves=rows.curves(),
        measured_attributes=rows.attributes(),
        measured_by_index=rows.by_index(),
        measured_chance=rows.chance(),
        overrides={
            code: {"label": label, **rows.axes_of[label]}
            for label, code in rows.evaluations.items()
            if code
        },
        missing=len(run_ids - recorded),
    )
    labels = [{axis: row[axis] for axis in axes} for row in study.trained.to_dict("records")]
    check_analysis_spec.check(spec, labels, rows.axes_of)
    if not spec.tuned:
        return study
    chosen = selection.choose(study)
    is_chosen = study.cases["variant"].isin(chosen.chosen_from)
    return dataclasses.replace(study, cases=study.cases.assign(chosen=is_chosen))


def _seen_offsets(
    variants: pd.DataFrame, measured: pd.DataFrame, spec: AnalysisSpec
) -> list[dict[int, int | float]]:
    """Return the tests whose positions training showed, though no example was as long.

    For each variant, the largest offset of such a test by its length, at all lengths that tables
    ask for. Records hold it. For older records, and for lengths that were measured later, it is
    computed here, once, when a study is read.
    """
    lengths = set(measured.loc[measured["split"] == "test", "length"].unique().tolist())
    points = {contrast.point for contrast in spec.contrasts}
    points |= {claim.point for claim in spec.reproduction.claims}
    points |= {spec.extrapolation.point}
    tokens_by_input = _num_tokens(variants)
    columns = []
    for row in variants.to_dict("records"):
        declared = {point.length_for(row["max_length"]) for point in points if point is not None}
        known = row["seen_offsets"] if row["finished"] else {}
        num_tokens = tokens_by_input.get(row["input"], {})
        offsets = {n: _offset(row, num_tokens, n) for n in lengths | declared if n is not None}
        offsets |= known
        columns.append({n: offset for n, offset in offsets.items() if offset is not None})
    return columns


def _num_tokens(variants: pd.DataFrame) -> dict[str, dict[int, int]]:
    """Return the tokens of an example by length, from all records with the same input.

    Older records hold it at the training length alone, as the largest of contiguous positions.
    """
    by_input: dict[str, dict[int, int]] = {}
    for row in variants[variants["finished"] > 0].to_dict("records"):
        num_tokens = by_input.setdefault(row["input"], {})
        num_tokens |= row["num_tokens"]
        if row["is_contiguous"] and not math.isnan(row["max_position"]):
            number = int(row["max_position"]) + 1
            length = row["max_length"]
            num_tokens[length] = min(number, num_tokens.get(length, number))
    return by_input


def _offset(
    row: Mapping[Any, Any], num_tokens: Mapping[int, int], length: int
) -> int | float | None:
    """Return the largest offset of a test whose positions a variant saw; None if it saw fewer.

    The largest position of a test is at most the number of tokens of its examples, minus one, and
    smaller if several tokens share a position.
    """
    largest, trained_length = row["max_position"], row["max_length"]
    # NaN, of a variant that reads no positions, differs from itself.
    if length <= trained_length or trained_length not in num_tokens or largest != largest:
        return None
    trained = num_tokens[trained_length]
    # A decoder and an encoder add these tokens to an example of any length.
    others = {0: int(row["layout_tokens"]), **num_tokens}
    del others[trained_length]
    # Most tasks have as many more tokens for each further unit of length.
    other_length = length if length in others else max(others)
    increase = trained - others[other_length]
    beyond = increase * (length - trained_length) / (trained_length - other_length)
    # Positions start at 0.
    in_test = row["max_test_position"]
    ordinary = min(trained - 1, in_test.get(trained_length, math.inf))
    offset = largest - min(trained + beyond - 1, in_test.get(length, math.inf))
    return offset if largest > ordinary and offset >= 0 else None


def _repeated(
    variants: pd.DataFrame, cases: pd.DataFrame, measured: pd.DataFrame
) -> list[set[int]]:
    """Return the test lengths at which training can draw some of the inputs, for each variant."""
    overlaps = measured[(measured["metric"] == "overlap") & (measured["value"] > 0)]
    overlaps = overlaps[overlaps["split"] != "validation"]
    finished = cases.loc[cases["status"] == "finished", ["variant", "run", "evaluation"]]
    lengths = finished.merge(overlaps, on=["run", "evaluation"]).groupby("variant")["length"]
    of_variants = lengths.agg(set).to_dict()
    return [of_variants.get(name, set()) for name in variants.index]


def _entries(study: str, entries: list[study_files.Entry]) -> pd.DataFrame:
    """Return variant, run_id and the labels by axis of each entry of study.json, each once."""
    labels = [labels for labels, _ in entries]
    frame = pd.DataFrame(labels, dtype=object).fillna("")
    frame.insert(0, "variant", variant_names.names(study, labels))
    frame.insert(1, "run_id", [run_id for _, run_id in entries])
    return frame.drop_duplicates(["variant", "run_id"])


def _variants(
    entries: pd.DataFrame, axes: tuple[str, ...], runs: pd.DataFrame, rows: RunRows
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the variants, as trained and with the overrides of their runs, and the cases."""
    cases = entries[["variant", "run_id", *axes]].merge(runs, on="run_id")
    if "task" not in axes:
        cases["task"] = cases["task_label"]
    cases["task"] = cases["task"].where(cases["task"] != "", cases["task_label"])
    trained = entries.drop_duplicates("variant").set_index("variant")[[*axes]]
    axes_of = rows.axes_of
    grid_axes = list(dict.fromkeys(axis for of_label in axes_of.values() for axis in of_label))
    of_variants = dict(list(cases.groupby("variant", sort=False)))
    listed = []
    parts = [cases.assign(evaluation=0, chosen=True)]
    for name, labels in trained.iterrows():
        empty = dict.fromkeys((EVALUATED_WITH, *grid_axes), "")
        row = {"variant": name, **labels, **empty, "override": "", "grid": ()}
        listed.append(row)
        if name not in of_variants:
            continue  # none of its runs has a record, so that nothing says how they are evaluated
        of_variant = of_variants[name]
        # An override has variants and cases of its own. Tables then treat it like any variant, and
        # its cases read the same records by another code of the evaluation.
        for label in rows.overrides_of(of_variant["run"]):
            full_name = f"{name}, {EVALUATED_WITH} {label}"
            more = {EVALUATED_WITH: label, "override": label, "grid": tuple(axes_of[label])}
            listed.append({**row, **axes_of[label], **more, "variant": full_name})
            of_override = of_variant.assign(
                variant=full_name,
                evaluation=rows.evaluations[label],
                reveals_target_length=rows.reveals(label, of_variant),
                chosen=True,
            )
            parts.append(of_override)
    variants = pd.DataFrame(listed).set_index("variant")
    all_cases = pd.concat(parts, ignore_index=True)
    return _described(variants, all_cases), all_cases


def _described(variants: pd.DataFrame, cases: pd.DataFrame) -> pd.DataFrame:
    """Return variants with the columns that summarize their cases.

    Columns: runs, finished, diverged, failed and solved (numbers of runs); has_text; is_corpus;
    is_unsolved; max_length, max_position and reveals_target_length; task_name, length_name; and
    the columns of `run_rows.INPUT`.
    """
    of_status = pd.crosstab(cases["variant"], cases["status"])
    of_runs = cases.groupby("variant").agg(
        runs=("run", "size"),
        solved=("solved", "sum"),
        task_name=("task", "first"),
    )
    finished = cases[cases["status"] == "finished"]
    of_finished = finished.groupby("variant").agg(
        has_text=("is_text", "any"),
        is_corpus=("corpus_sizes", lambda sizes: sizes.notna().all()),
        max_length=("max_length", "max"),
        max_position=("max_position", "max"),
        reveals_target_length=("reveals_target_length", "any"),
        is_contiguous=("is_contiguous", "all"),
        length_name=("length_name", "first"),
    )
    first = finished.drop_duplicates("variant").set_index("variant")[run_rows.INPUT]
    columns = [of_runs, of_status.reindex(columns=_OF_RUNS), of_finished, first]
    variants = variants.assign(**pd.concat(columns, axis="columns").reindex(variants.index))
    # A variant may have no run, or none that finished.
    counts = ["runs", *_OF_RUNS, "solved", "max_length"]
    variants[counts] = variants[counts].fillna(0).astype(int)
    flags = ["has_text", "is_corpus", "reveals_target_length", "is_contiguous"]
    variants[flags] = variants[flags].fillna(False).astype(bool)
    words = ["task_name", "length_name"]
    variants[words] = variants[words].fillna("")
    # A text has nothing to solve.
    variants["is_unsolved"] = (variants["solved"] == 0) & ~variants["has_text"]
    return variants
