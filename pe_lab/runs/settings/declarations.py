"""Declarations of settings, and the one reader of values that a user gives.

A setting is declared once, as a field of a dataclass:

    dropout: float = setting(0.0, "Rate at embeddings, in training only.", below=1)

Its type is the annotation. The base config (pe_lab/studies/base.py), the checks, the reader of
configs and evaluation overrides, and the page of settings all read the declaration.
"""

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, get_type_hints

from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.settings import typed_values

# The kinds of bounds: what a number satisfies, and the words for it.
_BOUNDS: dict[str, tuple[Callable[[float, int], bool], str]] = {
    "at_least": (operator.ge, "at least {}"),
    "above": (operator.gt, "more than {}"),
    "at_most": (operator.le, "at most {}"),
    "below": (lambda number, bound: 0 <= number < bound, "in [0, {})"),
}


@dataclass(frozen=True)
class Setting:
    """The declaration of a setting.

    Attributes:
      default: its value in the base config. Plugins are plain values: dict(name=...).
      meaning: one or two sentences, with the unit.
      limits: bounds of a number, by their kind.
    """

    default: object
    meaning: str
    limits: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @property
    def bounds(self) -> str:
        """The bounds in words, as in "at least 1"; "" without bounds."""
        return ", ".join(_BOUNDS[kind][1].format(bound) for kind, bound in self.limits.items())

    def check(self, value: object, name: str) -> None:
        """Check that a number is within its bounds.

        Raises:
          UserError: it is not.
        """
        if not isinstance(value, int | float):
            return  # None, or a name such as "solved"
        for kind, bound in self.limits.items():
            holds, words = _BOUNDS[kind]
            if not holds(value, bound):
                raise UserError(f"{name} must be {words.format(bound)}, got {value}.")


def setting(
    default: object,
    meaning: str,
    *,
    in_all_records: bool = True,
    older: object = None,
    **limits: int,
) -> Any:
    """Return the field of a setting.

    Args:
      in_all_records: False: records from before the setting existed lack it.
      older: its value in them, that of the only behavior that there was; None: the default.
      limits: bounds of a number: at_least, above, at_most or below. With `below`, a number is not
        negative either.
    """
    metadata: dict[str, object] = {"setting": Setting(default, meaning, limits)}
    if not in_all_records:
        metadata["older"] = default if older is None else older
    # The field has no default in Python: a record without a setting of all records is damaged.
    return dataclasses.field(metadata=metadata)


def declared_settings(cls: type) -> dict[str, Setting]:
    """Return the settings of a dataclass by name, in the order of their declaration."""
    settings = {}
    for field in dataclasses.fields(cls):
        if "setting" in field.metadata:
            settings[field.name] = field.metadata["setting"]
    return settings


@functools.cache
def older_values(cls: type) -> dict[str, object]:
    """Return the settings of a dataclass that older records lack, with their values in JSON.

    A setting at this value is no part of a run's id, so that a new setting makes no older run
    stale.
    """
    values = {}
    for field in dataclasses.fields(cls):
        if "older" in field.metadata:
            older = field.metadata["older"]
            values[field.name] = list(older) if isinstance(older, tuple) else older
    return values


def removed_settings(cls: type) -> Mapping[str, object]:
    """Return the settings of older versions that records of a dataclass name, with their values.

    This version behaves as with these values, so it reads records that have them and no others. In
    a group that determines the weights, they are part of a run's id.
    """
    return getattr(cls, "removed", {})


def check_keys(owner: str, values: Iterable[object], names: Iterable[str]) -> None:
    """Check that every key is one of the names.

    Raises:
      UserError: one is not; the sentence has the nearest name.
    """
    names = list(names)
    for key in values:
        if key not in names:
            raise unknown(owner, str(key), map(str, names))


def read(
    cls: type,
    values: Mapping[str, object],
    name_of: Callable[[str], str],
    readers: Mapping[str, Callable[[object], object]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the values of a dataclass's fields, each checked against its type and its bounds.

    Fields without a value are left out, and so are values without a field.

    Args:
      name_of: the name of a field in errors: "config.train.{}".format.
      readers: functions that read values that are not plain, by their name in errors.
    """
    hints = get_type_hints(cls)
    declared = declared_settings(cls)
    checked = {}
    for key, hint in hints.items():
        if key not in values:
            continue
        name = name_of(key)
        if name in readers:
            checked[key] = readers[name](values[key])
            continue
        checked[key] = typed_values.checked(values[key], hint, name)
        if key in declared:
            declared[key].check(checked[key], name)
    return checked
