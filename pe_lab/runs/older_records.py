"""Records of older schema versions, read as this version would have written them.

A setting that did not exist yet gets the value of the only behavior that there was. A field that
has another name today gets that name.
"""

from collections.abc import Mapping
from typing import Any

from pe_lab.runs.record_schema import JsonObject

# Settings that later versions added, by group, with the value of the only behavior before. Records
# without a setting get this value, and a setting at this value is no part of a run's id, so that a
# new setting makes no older run stale.
ADDED_SETTINGS: dict[str, dict[str, Any]] = {
    "evaluate": {"frozen": None, "exact_operands": "none", "attributes": []},
    "execution": {"batch_devices": 1, "time_limit": None},
    "checkpoints": {"keep_curve": False},
    "model": {
        "loop_injection": "none",
        "scale_logits": True,
        "shared_projections": "none",
        "mixer": "attention",
        "convolution_sites": [],
        "convolution_width": 4,
        "convolution_residual": True,
        "token_shift": "none",
        "output_gate": "none",
        "head_output_norm": False,
        "learned_sinks": False,
    },
    "train": {"exclude_held_out": False, "lengths": {"name": "uniform"}, "min_loops": None},
}
# Old and new names of version 6, by part of a record.
_RECORD = {"replica": "member", "floors": "chance_levels", "code_ratio": "scale_ratio"}
_ROW = {"change": "override"}
_CURVE_POINT = {"code_ratio": "scale_ratio"}
_CHECKPOINT = {"cell": "run_group", "replica": "member"}
_COST = {"replicas": "members"}
_EXPOSURE = {
    "target_length_known": "reveals_target_length",
    "learnt_threshold": "solved_threshold",
}
_EXECUTION = {"replicas": "members", "max_replicas": "max_members"}
_EVALUATE = {"changes": "overrides"}
# Encodings of earlier versions that read no positions. Records did not say so.
_WITHOUT_POSITIONS = ("cope", "fox", "nope", "path", "selective_rope", "stick_breaking")
# Relative encodings of earlier versions that read one axis. Records did not say so.
RELATIVE = (
    "alibi",
    "deberta",
    "dynamic_position_bias",
    "hard_alibi",
    "kerple",
    "music_transformer",
    "pope",
    "relative_logits",
    "rope",
    "sandwich",
    "shaw",
    "sliding_window",
    "t5_bias",
    "transformer_xl",
    "xpos",
)


def rename_fields(record: JsonObject) -> dict[str, Any]:
    """Return a record of an older version with the fields of this version."""
    return _rename(record, _RECORD)


def upgrade(record: JsonObject) -> dict[str, Any]:
    """Return a record with the contents of this version.

    Args:
      record: of an older version, after `rename_fields`.
    """
    record = dict(record)
    record["config"] = upgrade_config(record["config"])
    record["rows"] = [_upgrade_row(row) for row in record["rows"]]
    record["curve"] = [_rename(point, _CURVE_POINT) for point in record["curve"]]
    new_names = {"checkpoint": _CHECKPOINT, "cost": _COST, "exposure": _EXPOSURE}
    for field, names in new_names.items():
        if record[field] is not None:
            record[field] = _rename(record[field], names)
    exposure = record["exposure"]
    if exposure is not None and exposure["max_position"] is not None:
        largest = exposure["max_position"] - _unnoticed_shift(record["config"])
        record["exposure"] = {**exposure, "max_position": largest}
    return record


def _unnoticed_shift(config: JsonObject) -> int:
    """Return the shift of training positions that no encoding can notice; 0 for any other.

    Versions before 8 counted it in `max_position`. This covers the records that exist: relative
    encodings with the scheme `shifted`, trained from the start.
    """
    scheme = config["positions"]
    if scheme["name"] != "shifted" or config["init_from"] is not None:
        return 0
    readers = [e for e in config["model"]["encodings"] if e["reads_positions"]]
    for encoding in readers:
        is_own_scheme = encoding.get("positions") is not None
        is_cross = "cross" in (encoding.get("stacks") or ())
        if encoding["name"] not in RELATIVE or is_own_scheme or is_cross:
            return 0
    return scheme["max_shift"]


def with_added_settings(config: JsonObject) -> dict[str, Any]:
    """Return a config in which every group has the settings that later commits added."""
    complete = dict(config)
    for group, settings in ADDED_SETTINGS.items():
        if group in config:
            complete[group] = settings | config[group]
    return complete


def upgrade_config(config: JsonObject) -> dict[str, Any]:
    """Return the config of an older record with all settings of this version."""
    config = with_added_settings(config)
    execution = config["execution"] = _rename(config["execution"], _EXECUTION)
    if "attention" in execution:  # the name of `kernels` before version 6
        form = execution.pop("attention")
        execution["kernels"] = "reference" if form == "explicit" else form
    evaluate = config["evaluate"] = _rename(config["evaluate"], _EVALUATE)
    if "validation_lengths" not in evaluate:  # versions before 6 validated on these
        longest = config["train"]["max_length"]
        trained_lengths = [length for length in evaluate["lengths"] if length <= longest]
        evaluate["validation_lengths"] = trained_lengths
    evaluate["overrides"] = [_upgrade_override(override) for override in evaluate["overrides"]]
    # Versions before 6 did not hold operands to their exact length.
    config.setdefault("evaluated_task", config["task"])
    encodings = [_upgrade_encoding(encoding) for encoding in config["model"]["encodings"]]
    config["model"] = {**config["model"], "encodings": encodings}
    return config


def _rename(values: JsonObject, names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in values.items()}


def _upgrade_row(row: JsonObject) -> dict[str, Any]:
    row = {"sources": None, **_rename(row, _ROW)}
    if row["override"] is not None:
        row["override"] = _rename(_upgrade_override(row["override"]), _EXPOSURE)
    return row


def _upgrade_override(override: JsonObject) -> dict[str, Any]:
    override = dict(override)
    if override["encodings"] is not None:
        override["encodings"] = [_upgrade_encoding(e) for e in override["encodings"]]
    return override


def _upgrade_encoding(encoding: JsonObject) -> dict[str, Any]:
    reads_positions = encoding["name"] not in _WITHOUT_POSITIONS
    return {"reads_positions": reads_positions, **encoding}
