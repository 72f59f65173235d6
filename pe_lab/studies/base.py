"""The config with the default of every setting. A study's config changes some of them.

pe_lab/runs/settings/settings.py declares the settings, with their types, units, ranges and
meanings. The values are an `ml_collections.ConfigDict`, which rejects an unknown key and a value of
another type.
"""

import copy
import types
import typing
from typing import get_type_hints

from ml_collections import ConfigDict, config_dict

from pe_lab.runs.run import DERIVED, Run
from pe_lab.runs.settings.declarations import Setting, declared_settings

# It is no setting of a run: the same run may be started in many ways.
LAUNCHER = Setting(
    dict(name="local"),
    "A file of pe_lab/sweeps/launchers, which starts run groups, and its arguments. It is not part "
    "of a record.",
)


def groups() -> dict[str, type]:
    """Return the classes that declare settings, by their key in a config. "" is the config."""
    groups: dict[str, type] = {"": Run}
    for name, hint in get_type_hints(Run).items():
        if name not in declared_settings(Run) and name not in DERIVED:
            groups[name] = hint
    return groups


def get_config() -> ConfigDict:
    config = ConfigDict()
    for group, cls in groups().items():
        values = ConfigDict()
        hints = get_type_hints(cls)
        for name, declared in declared_settings(cls).items():
            values[name] = _value(declared.default, hints[name])
        if group:
            config[group] = values
        else:
            config.update(values)
    config.launcher = copy.deepcopy(LAUNCHER.default)
    return config


def _value(default: object, hint: object) -> object:
    """Return a default as a ConfigDict holds it, which fixes the type of later values.

    A setting that may be None has a placeholder for its other type, or for any type if there are
    several.
    """
    options = [hint]
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        options = [option for option in typing.get_args(hint) if option is not types.NoneType]
        if default is not None:
            return config_dict.FieldReference(default, field_type=object)
    if default is not None:
        return copy.deepcopy(default)
    kind = typing.get_origin(options[0]) or options[0]
    is_plain = len(options) == 1 and kind in (int, float, str, tuple)
    return config_dict.placeholder(kind if is_plain else object)
