"""The results folder of a study that a command names."""

from pathlib import Path

from pe_lab.runs.errors import unknown

# A study that was trained here comes before a published one of its name.
RESULTS = (Path("results"), Path("results/published"))


def folders() -> dict[str, Path]:
    """Return the folders of the studies in the results folders here, by name."""
    by_name: dict[str, Path] = {}
    for results in RESULTS:
        for file in sorted(results.glob("*/study.json")):
            by_name.setdefault(file.parent.name, file.parent)
    return by_name


def folder(study: str) -> Path:
    """Return the folder of a study that is given by its name or by its path.

    Raises:
      UserError: there is no study of this name.
    """
    if "/" in study:
        return Path(study)
    by_name = folders()
    if study in by_name:
        return by_name[study]
    if (RESULTS[0] / study).is_dir():  # without study.json: its reader says what is wrong
        return RESULTS[0] / study
    raise unknown("The list of studies in results and results/published", study, by_name)
