"""Choosing runs by parts of their configs: "the rope runs of exposure, seed by seed".

    init_from=dict(study="exposure", select=dict(model=dict(encodings="rope")), match=("seed",))

`select` is a part of a config. A plugin is named by its name, or with some of its arguments;
several encodings by "rope + learned". `match` are paths where the chosen run must equal the one
that asks.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pe_lab.runs import records, study_files
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.labels import agrees, label

_KEYS = ("study", "run_id", "select", "match")


def check(select: Any, config: Mapping[str, Any], where: str = "select") -> None:
    """That every key of a selection is one of a config.

    Raises:
      UserError: with the near names.
    """
    if not isinstance(select, Mapping):
        return
    if "name" in config:
        return  # a plugin's arguments differ from run to run
    for key, value in select.items():
        if key not in config:
            raise unknown(where, str(key), config)
        if isinstance(config[key], Mapping):
            check(value, config[key], f"{where}.{key}")


def resolve(
    values: dict[str, Any], folder: Path, before: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Config values whose init_from names one run by its id.

    Args:
      values: of the run that asks.
      folder: of its study.
      before: the resolved configs of the study's earlier runs, with their "run_id".

    Raises:
      UserError: none or several are as asked for.
    """
    asked = values.get("init_from")
    if asked is None:
        return values
    if (
        not isinstance(asked, Mapping)
        or not asked.keys() & {"run_id", "select"}
        or not _readable(asked)
    ):
        raise UserError(
            f"config.init_from is dict(study=..., select=dict(...), match=(...)) or "
            f"dict(study=..., run_id=...), got {asked!r}."
        )
    for key in asked:
        if key not in _KEYS:
            raise unknown("config.init_from", str(key), _KEYS)
    study = asked.get("study") or ""
    if "run_id" in asked:
        return {**values, "init_from": {"study": study, "run_id": asked["run_id"]}}
    known = list(before) if not study else _configs(study_files.folder_of(study, folder))
    return {
        **values,
        "init_from": {
            "study": study,
            "run_id": _the_one(asked, values, known, study or "this study, before this point"),
        },
    }


def _readable(asked: Mapping[str, Any]) -> bool:
    match, texts = asked.get("match", ()), (asked.get("study") or "", asked.get("run_id", ""))
    paths = match if isinstance(match, list | tuple) else (None,)
    return isinstance(asked.get("select", {}), Mapping) and all(
        isinstance(text, str) for text in (*texts, *paths)
    )


def _configs(folder: Path) -> list[Mapping[str, Any]]:
    if not (folder / "records").is_dir():
        raise UserError(f"config.init_from finds no records in {folder}: sweep that study first.")
    return [
        {**record["config"], "run_id": run_id}
        for run_id, record in records.read_all(folder).items()
    ]


def _the_one(
    asked: Mapping[str, Any],
    values: Mapping[str, Any],
    known: Sequence[Mapping[str, Any]],
    where: str,
) -> str:
    select = {
        "init_from": None,
        **asked.get("select", {}),
    }  # a run that started from nothing, unless said otherwise
    if known:
        check(select, known[0])
    match = {path: _at(values, path) for path in asked.get("match", ("seed",))}
    found = [
        c["run_id"]
        for c in known
        if agrees(select, c) and all(agrees(v, _at(c, path)) for path, v in match.items())
    ]
    if len(found) == 1:
        return found[0]
    said = ", ".join(
        [*_words(asked.get("select", {})), *(f"{path}={label(v)}" for path, v in match.items())]
    )
    raise UserError(
        f"config.init_from finds {len(found) or 'no'} runs in {where} with {said}: it needs "
        f"exactly one."
    )


def _at(values: Mapping[str, Any], path: str) -> Any:
    inner: Any = values
    for key in path.split("."):
        if not isinstance(inner, Mapping) or key not in inner:
            raise unknown(
                f"config.init_from matches {path!r}, and the config",
                key,
                inner if isinstance(inner, Mapping) else (),
            )
        inner = inner[key]
    return inner


def _words(select: Mapping[str, Any], path: str = "") -> list[str]:
    found = []
    for key, value in select.items():
        nested = isinstance(value, Mapping) and "name" not in value
        found += _words(value, f"{path}{key}.") if nested else [f"{path}{key}={label(value)}"]
    return found
