"""A config file that gives the runs of a study again, written from its records."""

import pprint
from collections.abc import Iterable, Mapping
from typing import Any

from pe_lab.results.results import Results

_NO_WEIGHTS = (
    "evaluate",
    "checkpoints",
    "execution",
)  # change nothing that is trained, so they are no axes
_TEXT = '''"""{name}, as its records have it: {count} runs, with every default of then.

    python -m experiments.sweep --config={name}.py

Of commit {commits}. {missing}Labels stand beside values; a run has the id that it had.
"""

from ml_collections import ConfigDict

from pe_lab.runs import grid

CONFIG = {config}

POINTS = {points}
{analysis}

def get_config():
    return ConfigDict(CONFIG)


def sweep():
    return [point for axes in POINTS for point in grid.product({{path: [grid.labelled(*choice)] for path, choice in axes.items()}})]
{analysis_function}'''


def source(
    results: Results, entries: Iterable[tuple[Mapping[str, str], str]], analysis: Mapping[str, Any]
) -> str:
    """Python that gives the same run ids.

    Args:
      entries: of study.json; those without a record are left out, and the file says how many.
      analysis: the study's analysis spec as plain data.
    """
    found = {r["run_id"]: r for v in results.variants for r in v.runs}
    asked = [
        (labels, _config(found[run_id]["config"], found))
        for labels, run_id in entries
        if run_id in found
    ]
    base = asked[0][1]
    differ = sorted(
        {
            p
            for _, config in asked
            for p in _differences(base, config)
            if p.partition(".")[0] not in _NO_WEIGHTS
        }
    )
    points = [
        {
            path: (labels.get(path, ""), _tuples(_at(config, path)))
            for path in _paths(labels, differ)
        }
        for labels, config in asked
    ]
    commits = sorted({str(r["provenance"].get("commit")) for r in found.values()})
    return _TEXT.format(
        name=_plain(results.name),
        count=len(found),
        commits=", ".join(map(_plain, commits)),
        missing=f"{results.missing} runs without a record are not in it. "
        if results.missing
        else "",
        config=pprint.pformat(_tuples(base), width=120, sort_dicts=False),
        points=pprint.pformat(points, width=120, sort_dicts=False),
        analysis=f"\nANALYSIS = {pprint.pformat(_tuples(analysis), width=120, sort_dicts=False)}\n"
        if analysis
        else "",
        analysis_function="\n\ndef analysis():\n    return ANALYSIS\n" if analysis else "",
    )


def _config(config: Mapping[str, Any], found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """As a study says it: the data's seed follows the run's, and a run to start from is found by its settings and its seed."""
    own = dict(config)
    if own["data_seed"] == own["seed"]:
        own["data_seed"] = None
    start = own.get("init_from")
    if start and start["run_id"] in found:
        settings = {
            k: v
            for k, v in found[start["run_id"]]["config"].items()
            if k not in ("seed", "data_seed", *_NO_WEIGHTS)
        }
        own["init_from"] = {"study": start["study"], "select": settings, "match": ("seed",)}
    return own


def _paths(labels: Mapping[str, str], differ: Iterable[str]) -> list[str]:
    """The axes of the sweep, and the other settings that differ."""
    return [
        *labels,
        *(
            p
            for p in differ
            if not any(p == a or p.startswith(f"{a}.") or a.startswith(f"{p}.") for a in labels)
        ),
    ]


def _differences(a: Any, b: Any, path: str = "") -> set[str]:
    if isinstance(a, Mapping) and isinstance(b, Mapping) and "name" not in a:
        return {
            p
            for key in a.keys() | b.keys()
            for p in _differences(a.get(key), b.get(key), f"{path}.{key}" if path else key)
        }
    return set() if a == b else {path}


def _at(config: Any, path: str) -> Any:
    for key in path.split("."):
        config = config[key]
    return config


def _tuples(value: Any) -> Any:
    """A config has tuples where JSON has lists."""
    if isinstance(value, Mapping):
        return {key: _tuples(v) for key, v in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


def _plain(text: str) -> str:
    """Nothing that ends a docstring."""
    return "".join(c if c.isalnum() or c in "_-. " else "_" for c in text)
