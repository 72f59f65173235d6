"""The table of encodings that train at every learning rate: rows that are published or in folders.

The published rows are the scores of their runs (run_scores.py), which docs/build/suite_rows.py
writes into one CSV file.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pe_lab.results import formats, frame, notes, selection, setting_tables, signs, suite
from pe_lab.results.latex import as_latex
from pe_lab.results.study import Study
from pe_lab.results.suite import Page, SuiteProtocol
from pe_lab.runs.analysis_spec import AnalysisSpec

_RATE = "train.learning_rate"
_WORDS = ("run_id", "name", _RATE)


def scores(study: Study) -> pd.DataFrame:
    """Return the scores of the runs of all complete rows, with signs behind the names of rows.

    Args:
      study: before `selection.choose`.

    Returns:
      One row for each run, with the scores of setting_tables.full_grid.
    """
    runs = setting_tables.full_grid(study)
    if runs.empty:
        return runs
    chosen = selection.choose(study)
    names = {}
    for name in runs["name"].unique():
        # The only row of a study has no name there: it differs from no other row.
        variant = name or chosen.variants.index[0]
        label = name or chosen.by_name[variant]["model.encodings"]
        names[name] = " ".join([label, *signs.of_name(chosen, variant)])
    first = runs.columns.get_loc("max_length") + 1
    of_run = dict.fromkeys([*_WORDS, "seed", "solved", *runs.columns[first:]])
    return runs.assign(name=runs["name"].map(names))[list(of_run)]


def read_scores(file: Path) -> pd.DataFrame:
    """Return the scores of published rows, as `scores` has them."""
    return pd.read_csv(file, dtype=dict.fromkeys(_WORDS, str))


def page(
    published: pd.DataFrame,
    folders: Sequence[Path],
    protocol: SuiteProtocol,
    rates: Sequence[float],
    spec: AnalysisSpec,
    remark: str,
) -> Page:
    """Return the table of the published rows and the rows in folders, with a remark before it.

    Args:
      published: result of `read_scores`.
      folders: each holds a study of one row.
      rates: learning rates of each row; published runs at others are left out.

    Raises:
      UserError: a folder holds no study, or a record is damaged.
    """
    has_rate = published[_RATE].astype(float).isin(rates)
    rows = [published[has_rate & (published["seed"] < protocol.seeds)]]
    num_runs = int(rows[0].groupby("name").size().max())
    (task,) = protocol.configs
    parts = [remark]
    for folder in folders:
        study = frame.read(folder)
        finished = study.cases[study.cases["status"] == "finished"]
        reason = suite.reason_to_leave_out(study, task, finished, protocol)
        if not reason and len(finished) < num_runs:
            reason = f"{len(finished)} of its {num_runs} runs are finished"
        if reason:
            parts.append(f"{folder.name} is left out: {reason}.")
        else:
            rows.append(scores(study))
    table = setting_tables.by_setting(spec, pd.concat(rows, ignore_index=True))
    table = notes.table(table.title, table.caption, table.header, table.rows, table.notes)
    parts += [*formats.sections([table]), formats.notes([table])]
    return Page("\n\n".join(parts), as_latex(table, "suite"))
