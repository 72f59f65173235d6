"""Records of older schema versions, read as this version would have written them.

A setting that did not exist yet gets the value of the only behavior that there was.
"""

from collections.abc import Mapping
from typing import Any

# By group of a config: settings that versions 3 to 6 added.
_ADDED_SETTINGS: dict[str, dict[str, Any]] = {
    "evaluate": {"frozen": None, "exact_operands": "none"},
    "execution": {"batch_devices": 1},
    "checkpoints": {"keep_curve": False},
    "train": {"drawing": 1},
}
# Encodings of earlier versions that read no positions. Records did not say so.
_WITHOUT_POSITIONS = ("cope", "fox", "nope", "path", "selective_rope", "stick_breaking")


def upgrade(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record of an older version with the keys of this version."""
    rows = [{"sources": None, **row} for row in record["rows"]]
    return {**record, "config": upgrade_config(record["config"]), "rows": rows}


def upgrade_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config of an older record with all settings of this version."""
    config = dict(config)
    for group, settings in _ADDED_SETTINGS.items():
        config[group] = settings | config[group]
    execution = config["execution"]
    if "attention" in execution:  # the name of `kernels` before version 6
        form = execution.pop("attention")
        execution["kernels"] = "reference" if form == "explicit" else form
    evaluate, longest = config["evaluate"], config["train"]["max_length"]
    if "validation_lengths" not in evaluate:  # versions before 6 validated on these
        trained = [length for length in evaluate["lengths"] if length <= longest]
        evaluate["validation_lengths"] = trained
    # Versions before 6 did not hold operands to their exact length.
    config.setdefault("evaluated_task", config["task"])
    encodings = config["model"]["encodings"]
    config["model"] = {**config["model"], "encodings": [_encoding(e) for e in encodings]}
    evaluate["changes"] = [_override(override) for override in evaluate["changes"]]
    return config


def _encoding(settings: Mapping[str, Any]) -> dict[str, Any]:
    reads_positions = settings["name"] not in _WITHOUT_POSITIONS
    return {"reads_positions": reads_positions, **settings}


def _override(settings: Mapping[str, Any]) -> dict[str, Any]:
    encodings = settings["encodings"]
    if encodings is None:
        return dict(settings)
    return {**settings, "encodings": [_encoding(e) for e in encodings]}
