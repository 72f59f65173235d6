"""Exports the records and curves of a study to TensorBoard or Weights & Biases.

    python -m experiments.export --study=quickstart --to=tensorboard [--out=FOLDER]
    python -m experiments.export --study=quickstart --to=wandb [--out=FOLDER] [--online]

--results=FOLDER names the study by its folder. Both formats need a library:
pip install 'pe_lab[writers]'. W&B runs are written to this machine, and `wandb sync`
uploads them; --online uploads them at once. Exit status: 0, or 2 for wrong arguments.
"""

from pathlib import Path
from typing import Any

from absl import flags

from experiments import command_line, study_folder
from pe_lab.results import writers
from pe_lab.runs.errors import UserError

study_folder.define()
_TO = flags.DEFINE_string("to", None, "tensorboard or wandb")
_OUT = flags.DEFINE_string(
    "out", None, "output folder; default: tensorboard or wandb in the study's folder"
)
_ONLINE = flags.DEFINE_boolean("online", False, "upload the runs to W&B's server at once")


def main() -> int:
    folder = study_folder.folder()
    if not _TO.value:
        raise UserError("Which format? Give --to=tensorboard or --to=wandb.")
    if _ONLINE.value and _TO.value != "wandb":
        raise UserError("--online needs --to=wandb.")
    out = Path(_OUT.value) if _OUT.value else folder / _TO.value
    options: dict[str, Any] = {"online": True} if _ONLINE.value else {}
    number = writers.export(folder, _TO.value, out, **options)
    print(f"{number} runs: {out}")
    return 0


if __name__ == "__main__":
    command_line.run(main)
