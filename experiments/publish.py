"""Copies a study's records, tables and plots to results/published, where they are committed.

    python -m experiments.publish --results=results/quickstart

The README.md there is written by hand and never touched.
"""

import shutil
from pathlib import Path

from absl import flags

from experiments import command_line
from pe_lab import records
from pe_lab.analysis import plots, results, tables
from pe_lab.errors import UserError

_RESULTS = flags.DEFINE_string("results", None, "the study's folder")


def main() -> int:
    if not _RESULTS.value:
        raise UserError("Which study? Give its folder: --results=results/quickstart.")
    folder = Path(_RESULTS.value)
    found = results.load(folder)
    if not found.finished:
        raise UserError(f"{folder} has no finished run to publish.")
    if found.missing:
        raise UserError(f"{folder} lacks the records of {found.missing} runs: sweep again, so that none is left out.")
    target = Path("results/published") / found.name
    shutil.rmtree(target / "records", ignore_errors=True)
    (target / "records").mkdir(parents=True)
    shutil.copy(folder / "study.json", target)
    run_ids = {r["run_id"] for v in found.variants for r in v.runs}
    for run_id in run_ids:
        shutil.copy(records.path_of(folder, run_id), target / "records")
    tables.write(found, target)
    plots.write(found, target)
    print(f"published {len(run_ids)} runs in {target}; say what they show in {target}/README.md")
    return 0


if __name__ == "__main__":
    command_line.run(main)
