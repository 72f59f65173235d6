"""Selection of runs by parts of their configs: "the rope runs of exposure, seed by seed".

    init_from=dict(study="exposure", select=dict(model=dict(encodings="rope")), match=("seed",))

`select` is a part of a config. It states a plugin by its name alone or with some arguments, and
several encodings as "rope + learned". `match` lists the paths where the chosen run must equal the
run that starts from it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

from pe_lab.runs import paths
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.records import records
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.settings.declarations import check_keys
from pe_lab.runs.settings.labels import agrees, label
from pe_lab.runs.studies import study_files

_KEYS = ("study", "run_id", "select", "match", "keep")


def check(select: object, config: JsonObject, where: str = "select") -> None:
    """Check that every key of a selection is one of a config.

    Raises:
      UserError: with the near names.
    """
    if not isinstance(select, Mapping):
        return
    if "name" in config:
        return  # a plugin's arguments differ from run to run
    for key, value in select.items():
        check_keys(where, [key], config)
        if isinstance(config[key], Mapping):
            check(value, config[key], f"{where}.{key}")


def resolve(
    values: dict[str, object],
    folder: Path,
    before: Sequence[JsonObject],
) -> dict[str, object]:
    """Config values whose init_from names one run by its id.

    Args:
      values: of the run that starts from another one.
      folder: of its study.
      before: the resolved configs of the study's earlier runs, with their "run_id".

    Raises:
      UserError: no run or several runs match.
    """
    init_from = values.get("init_from")
    if init_from is None:
        return values
    if not _is_readable(init_from):
        raise UserError(
            f"config.init_from is dict(study=..., select=dict(...), match=(...)) or "
            f"dict(study=..., run_id=...), got {init_from!r}."
        )
    check_keys("config.init_from", init_from, _KEYS)
    study = init_from.get("study") or ""
    parent = {"study": study}
    if "keep" in init_from:
        parent["keep"] = init_from["keep"]
    if "run_id" in init_from:
        return {**values, "init_from": {**parent, "run_id": init_from["run_id"]}}
    # Only earlier points of the same study, because a parent is trained before its child.
    candidates = list(before)
    where = "this study, before this point"
    if study:
        candidates = _configs(study_files.folder_of(study, folder))
        where = study
    run_id = _find_one(init_from, values, candidates, where)
    return {**values, "init_from": {**parent, "run_id": run_id}}


def _is_readable(init_from: object) -> TypeGuard[JsonObject]:
    """Whether a config's init_from has the right keys and types."""
    if not isinstance(init_from, Mapping):
        return False
    if "run_id" not in init_from and "select" not in init_from:
        return False
    match = init_from.get("match", ())
    if not isinstance(match, list | tuple):
        return False
    texts = (init_from.get("study") or "", init_from.get("run_id", ""), *match)
    are_texts = all(isinstance(text, str) for text in texts)
    return are_texts and isinstance(init_from.get("select", {}), Mapping)


def _configs(folder: Path) -> list[JsonObject]:
    if not records.exist(folder):
        raise UserError(f"config.init_from finds no records in {folder}: sweep that study first.")
    return [
        {**record["config"], "run_id": run_id}
        for run_id, record in records.read_all(folder).items()
    ]


def _find_one(
    init_from: JsonObject,
    values: JsonObject,
    candidates: Sequence[JsonObject],
    where: str,
) -> str:
    # By default a parent is a run that has no parent itself.
    select = {"init_from": None, **init_from.get("select", {})}
    # Configs have the same keys except in plugins, which `check` skips, so one config is enough.
    if candidates:
        check(select, candidates[0])
    match = {path: _at(values, path) for path in init_from.get("match", ("seed",))}
    run_ids = []
    for candidate in candidates:
        if not agrees(select, candidate):
            continue
        if all(agrees(value, _at(candidate, path)) for path, value in match.items()):
            run_ids.append(candidate["run_id"])
    if len(run_ids) == 1:
        return run_ids[0]
    words = _words(init_from.get("select", {}))
    words += [f"{path}={label(value)}" for path, value in match.items()]
    raise UserError(
        f"config.init_from finds {len(run_ids) or 'no'} runs in {where} with {', '.join(words)}: "
        "it needs exactly one."
    )


def _at(values: JsonObject, path: str) -> object:
    try:
        return paths.value_at(values, path)
    except KeyError as e:
        raise unknown(f"config.init_from matches {path!r}, and the config", *e.args) from e


def _words(select: JsonObject, path: str = "") -> list[str]:
    """A selection as "path=value" texts."""
    words = []
    for key, value in select.items():
        if isinstance(value, Mapping) and "name" not in value:
            words += _words(value, f"{path}{key}.")
        else:  # a plugin is one value, named by its label
            words.append(f"{path}{key}={label(value)}")
    return words
