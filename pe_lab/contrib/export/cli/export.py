"""Exports a study's curves, measurements or weights to other tools.

    pe-lab export quickstart --to=tensorboard [--out=FOLDER]  # trackio, mlflow
    pe-lab export quickstart --to=wandb [--out=FOLDER] [--online]
    pe-lab export quickstart --to=parquet [--out=FOLDER]      # pandas, DuckDB
    pe-lab export quickstart --to=safetensors [--out=FOLDER]  # weights

All formats need a library: pip install 'pe_lab[writers]', and 'pe_lab[mlflow]' for MLflow. W&B
runs are written to this machine, and `wandb sync` uploads them; --online uploads them at once.
MLflow writes to MLFLOW_TRACKING_URI if it is set. Exit status: 0, or 2 for wrong arguments.
"""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pe_lab.cli import _config_files, _studies
from pe_lab.cli._arguments import allow_plugins, argument, file_path, flag
from pe_lab.runs.errors import UserError
from pe_lab.runs.system import files

FORMATS = ("mlflow", "parquet", "safetensors", "tensorboard", "trackio", "wandb")


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab export`."""

    study: Path = argument(_studies.HELP, _config_files.study_folder)
    to: str | None = flag(f"the format: {', '.join(FORMATS)}", default=None, choices=FORMATS)
    out: Path | None = flag("default: a folder in the study's folder", file_path, default=None)
    online: bool = flag("upload the runs to W&B's server at once")
    allow_plugins: Sequence[str] = allow_plugins()


def run(options: Options) -> int:
    if not options.to:
        raise UserError(f"Which format? Give --to, one of {', '.join(FORMATS)}.")
    if options.online and options.to != "wandb":
        raise UserError("--online needs --to=wandb.")
    out = options.out or options.study / options.to
    if out.exists() and not out.is_dir():
        raise UserError(f"--out must be a folder, and {out} is a file.")
    number = _export(options, options.to, out)
    print(f"{number} runs: {out}")
    return 0


def _export(options: Options, to: str, out: Path) -> int:
    """Export the study and return the number of its runs."""
    if to == "parquet":
        return _to_parquet(options.study, out)
    if to == "safetensors":
        from pe_lab.contrib.export import weights  # imports JAX

        return weights.write(options.study, out)
    from pe_lab.contrib.export import writers

    more: dict[str, object] = {"online": True} if options.online else {}
    return writers.export(options.study, to, out, **more)


def _to_parquet(folder: Path, out: Path) -> int:
    """Write the frames of a study."""
    from pe_lab.results import frame

    if importlib.util.find_spec("pyarrow") is None:
        raise UserError(
            "Parquet needs pyarrow, which is not installed: pip install 'pe_lab[writers]'."
        )
    study = frame.read(folder)
    tables = {"runs": study.runs, "measurements": study.numbers, "curves": study.curves}
    for name, table in tables.items():
        files.write_bytes(out / f"{name}.parquet", table.to_parquet(index=False))
    return len(study.runs)
