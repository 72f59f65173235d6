"""Trains encodings on the suite and prints them with published rows.

    pe-lab suite my_package.mine:Mine --quick
    pe-lab suite 'rope(base=5e5) + alibi' 'mine=my_package.mine:Mine(size=4)'
    pe-lab suite    # prints the table of the rows that exist
    pe-lab suite mine=my_package.mine:Mine --bundle=mine.zip

An encoding may have a label, LABEL=ENCODING. It trains on the six tasks of suite_grid with three
seeds at each of three learning rates, and is printed beside two published rows. This takes about 40
minutes on two cores for an encoding as fast as RoPE. With --quick it trains on copying alone, in 6
minutes. The runs of an encoding are in results/suite/NAME, or in FOLDER/NAME with
--results=FOLDER. Finished runs are not trained again. The tables are also written there, to
all_rows.md and all_rows.tex. --bundle also writes a complete row, with its records and the file of
its class, as one archive for the published table. docs/suite.md says what the suite can tell. Exit
status: 0; 1 if a run failed; 2 for wrong arguments.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pe_lab.cli import _training
from pe_lab.cli._arguments import arguments, file_path, flag, whole_number
from pe_lab.contrib.grids import forms
from pe_lab.contrib.grids.labelled_rows import parse_labelled
from pe_lab.runs.errors import UserError


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab suite`."""

    encodings: Sequence[str] = arguments("rows to train: rope(base=5e5), LABEL=my.module:Mine")
    quick: bool = flag("copying alone, in a table of its own")
    smoke: bool = flag("a tiny form, which only shows that everything works")
    results: Path | None = flag(
        "folder of the rows; default: results/suite", file_path, default=None
    )
    bundle: Path | None = flag("an archive of the row, FILE.zip", file_path, default=None)
    workers: int | None = flag(_training.WORKERS, whole_number(1), default=None)
    dry_run: bool = flag(_training.DRY_RUN)
    write_groups: bool = flag(_training.WRITE_GROUPS)


def run(options: Options) -> int:
    if options.quick and options.smoke:
        raise UserError("Give --quick or --smoke, not both.")
    only_prints = options.dry_run or options.write_groups
    if only_prints and not options.encodings:
        raise UserError("--dry-run and --write-groups plan the runs of encodings: name some.")
    rows = parse_labelled(", ".join(options.encodings)) if options.encodings else {}
    form = forms.QUICK if options.quick else forms.FULL
    form = forms.SMOKE if options.smoke else form
    folder = options.results or Path("results") / form.name
    if options.bundle and (len(rows) != 1 or only_prints or form != forms.FULL):
        raise UserError(
            "--bundle is for one row, without --quick, --smoke, --dry-run and --write-groups."
        )
    from pe_lab.contrib.grids import train_rows  # imports JAX

    mode = train_rows.Mode(options.workers, options.dry_run, options.write_groups)
    return train_rows.run(form, rows, folder, mode, options.bundle)
