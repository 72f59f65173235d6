"""Flags --study and --results: the results folder of the study that a command reads."""

from pathlib import Path

from absl import flags

from experiments import allow_plugins
from pe_lab.cli import _studies
from pe_lab.runs.errors import UserError


def define() -> None:
    """Define the two flags. Every command that reads the results of a study has them."""
    flags.DEFINE_string(
        "study", None, "name of a study: the folder results/NAME, else results/published/NAME"
    )
    flags.DEFINE_string("results", None, "results folder of the study, instead of --study")


def folder() -> Path:
    """Return the folder that the flags name, whose records may name allowed plugins only.

    Raises:
      UserError: neither flag is given, or both are, --study is a path, or there is no such study.
    """
    allow_plugins.restrict()
    study, results = flags.FLAGS.study, flags.FLAGS.results
    if study and results:
        raise UserError("Give either --study=NAME or --results=FOLDER, not both.")
    if results:
        return Path(results)
    if not study:
        raise UserError(
            "Which study? Give its name, --study=quickstart, or its folder, "
            "--results=results/quickstart."
        )
    if study.startswith("."):
        raise UserError(f"{study!r} is not the name of a study.")
    if "/" in study:
        raise UserError(f"--study takes the name of a study. For a folder use --results={study}.")
    return _studies.folder(study)
