"""The results folder or the config file of a study that a command names."""

import re
from pathlib import Path

import pe_lab
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.paths import user_path

HELP = "name, folder or config file of a study"
PUBLISHED = "The published ones are in results/published of a checkout of pe_lab."
# A study that was trained here comes before a published one of its name.
RESULTS = (Path("results"), Path("results/published"))
# A config of this folder comes before one of its name that pe_lab ships.
_CONFIGS = (Path("configs"), Path(pe_lab.__file__).parent / "studies")


def split(study: str) -> tuple[str, str]:
    """Return the name or the file of a config, and its form; "" without a form.

    A folder may have a colon in its name, and a form has no slash.
    """
    if study.endswith(".py") or ":" not in study or "/" in study.rpartition(":")[2]:
        return study, ""
    name, _, form = study.rpartition(":")
    return name, form


def folders() -> dict[str, Path]:
    """Return the folders of the studies in the results folders here, by name."""
    by_name: dict[str, Path] = {}
    for results in RESULTS:
        for file in sorted(results.glob("[!.]*/study.json")):
            by_name.setdefault(file.parent.name, file.parent)
    return by_name


def folder(study: str) -> Path:
    """Return the folder of a study that is given by its name, its folder, or its config file.

    The study of a config is the one that `pe-lab sweep` trains in the results folder here.

    Raises:
      UserError: there is no study of this name.
    """
    study = user_path(study)
    file, form = split(study)
    if file.endswith(".py"):
        stem = config_file(file).stem
        return RESULTS[0] / (f"{stem}_{form}" if form else stem)
    if "/" in study or Path(study, "study.json").exists():
        return Path(study)
    by_name = folders()
    if study in by_name:
        return by_name[study]
    if (RESULTS[0] / study).is_dir():  # without study.json: reading it raises the error
        return RESULTS[0] / study
    if study in config_files():
        raise UserError(f"The study {study!r} has no runs here. Train it: pe-lab sweep {study}.")
    if not by_name:
        raise UserError(f"There are no studies here, so none is named {study!r}. {PUBLISHED}")
    raise unknown("The list of studies in results and results/published", study, by_name)


def config_files() -> dict[str, Path]:
    """Return the configs in the folder `configs` here and in pe_lab, by name."""
    by_name: dict[str, Path] = {}
    for configs in _CONFIGS:
        for file in sorted(configs.glob("[!_]*.py")):
            by_name.setdefault(file.stem, file)
    return by_name


def config_file(config: str) -> Path:
    """Return the file of a config that is given by its name or by its path.

    Raises:
      UserError: there is no such config.
    """
    path, by_name = Path(user_path(config)), config_files()
    if path.suffix == ".py" and path.is_file():
        return path
    if config in by_name:
        return by_name[config]
    if path.suffix != ".py" and Path(f"{config}.py").is_file():
        raise UserError(f"There is no config {config!r}. Did you mean the file {config}.py?")
    if path.suffix != ".py":
        raise unknown("The list of configs", config, by_name)
    stems = [*by_name, *(file.stem for file in path.parent.glob("*.py"))]
    near = re.search(r"Did you mean '.*'\?", str(unknown("", path.stem, stems)))
    raise UserError(f"There is no file {path}. {near[0] if near else ''}".rstrip())
