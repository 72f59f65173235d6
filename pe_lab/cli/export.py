"""Exports the records and curves of a study to TensorBoard or Weights & Biases.

    pe-lab export quickstart --to=tensorboard [--out=FOLDER]
    pe-lab export quickstart --to=wandb [--out=FOLDER] [--online]

Both formats need a library: pip install 'pe_lab[writers]'. W&B runs are written to this machine,
and `wandb sync` uploads them; --online uploads them at once. Exit status: 0, or 2 for wrong
arguments.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pe_lab.cli import _studies
from pe_lab.cli._arguments import argument, flag
from pe_lab.runs.errors import UserError

FORMATS = ("tensorboard", "wandb")


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab export`."""

    study: Path = argument(_studies.HELP, _studies.folder)
    to: str | None = flag(f"the format: {' or '.join(FORMATS)}", default=None, choices=FORMATS)
    out: Path | None = flag("default: a folder in the study's folder", Path, default=None)
    online: bool = flag("upload the runs to W&B's server at once")


def run(options: Options) -> int:
    if not options.to:
        raise UserError("Which format? Give --to=tensorboard or --to=wandb.")
    if options.online and options.to != "wandb":
        raise UserError("--online needs --to=wandb.")
    from pe_lab.results import writers

    out = options.out or options.study / options.to
    more: dict[str, Any] = {"online": True} if options.online else {}
    number = writers.export(options.study, options.to, out, **more)
    print(f"{number} runs: {out}")
    return 0
