"""Flags --study and --results: the results folder of the study that a command reads."""

from pathlib import Path

from absl import flags

from experiments import allow_plugins
from pe_lab.runs.errors import UserError

RESULTS = Path("results")


def define() -> None:
    """Define the two flags. Every command that reads the results of a study has them."""
    flags.DEFINE_string(
        "study", None, "name of a study: the folder results/NAME, else results/published/NAME"
    )
    flags.DEFINE_string("results", None, "results folder of the study, instead of --study")


def folder() -> Path:
    """Return the folder that the flags name, whose records may name allowed plugins only.

    Raises:
      UserError: neither flag is given, or both are, or --study is a path.
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
    return of(study)


def of(study: str) -> Path:
    """Return the folder of a study that is given by its name or by its path.

    A name is results/NAME, or results/published/NAME if only this folder holds a study.
    """
    if "/" in study:
        return Path(study)
    published = RESULTS / "published" / study
    if not (RESULTS / study / "study.json").exists() and (published / "study.json").exists():
        return published
    return RESULTS / study
