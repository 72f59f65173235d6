"""Gives the records and curves of a study to TensorBoard, or to Weights & Biases.

    python -m experiments.export --results=results/quickstart --to=tensorboard [--out=FOLDER]
    python -m experiments.export --results=results/quickstart --to=wandb [--out=FOLDER] [--online]

Both need a library of their own: .venv/bin/pip install -e '.[writers]'. By default --out is the
folder of that name in --results. W&B's runs stay on this machine (`wandb sync` sends them) unless
--online. Exit status: 0, or 2 for a mistake in what was given.
"""

from pathlib import Path
from typing import Any

from absl import flags

from experiments import command_line
from pe_lab.results import writers
from pe_lab.runs.errors import UserError

_RESULTS = flags.DEFINE_string("results", None, "the study's folder")
_TO = flags.DEFINE_string("to", None, "tensorboard or wandb")
_OUT = flags.DEFINE_string("out", None, "where to write; default <results>/<to>")
_ONLINE = flags.DEFINE_boolean("online", False, "send runs to W&B's server at once")


def main() -> int:
    if not _RESULTS.value or not _TO.value:
        raise UserError(
            "Which study, and for what? Give --results=results/quickstart --to=tensorboard, or "
            "--to=wandb."
        )
    if _ONLINE.value and _TO.value != "wandb":
        raise UserError("--online is for --to=wandb alone.")
    out = Path(_OUT.value) if _OUT.value else Path(_RESULTS.value) / _TO.value
    options: dict[str, Any] = {"online": True} if _ONLINE.value else {}
    number = writers.export(Path(_RESULTS.value), _TO.value, out, **options)
    print(f"{number} runs: {out}")
    return 0


if __name__ == "__main__":
    command_line.run(main)
