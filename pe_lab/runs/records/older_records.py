"""Records of schema versions 6 and 7, read as this version would have written them.

A setting that did not exist yet gets the value of the only behavior that there was. A setting that
exists no more is left out.
"""

from pe_lab.runs.errors import UserError
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.settings.declarations import older_values, removed_settings
from pe_lab.runs.settings.evaluation_settings import Evaluate
from pe_lab.runs.settings.execution_settings import Checkpoints, Execution
from pe_lab.runs.settings.settings import Model, Train

# The groups of settings that later versions have changed.
_GROUPS = {
    "model": Model,
    "train": Train,
    "evaluate": Evaluate,
    "checkpoints": Checkpoints,
    "execution": Execution,
}
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


def upgrade(record: JsonObject) -> dict[str, object]:
    """Return a record of version 6 or 7 with the contents of this version."""
    exposure = record["exposure"]
    if exposure is None or exposure["max_position"] is None:
        return dict(record)
    largest = exposure["max_position"] - _unnoticed_shift(record["config"])
    return {**record, "exposure": {**exposure, "max_position": largest}}


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


def with_current_settings(config: JsonObject, owner: object) -> dict[str, object]:
    """Return a config in which every group has the settings of this version.

    Args:
      owner: the file of the config, for errors.

    Raises:
      UserError: a removed setting has a value that this version does not implement.
    """
    current = dict(config)
    for group, cls in _GROUPS.items():
        if group not in config:
            continue
        values = older_values(cls) | config[group]
        for name, value in removed_settings(cls).items():
            recorded = values.pop(name, value)
            if recorded != value:
                raise UserError(
                    f"{owner} has config.{group}.{name}={recorded!r}, a setting that this version "
                    f"of pe_lab does not have."
                )
        current[group] = values
    return current
