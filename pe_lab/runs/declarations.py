"""Declarations of settings, and the one reader of values that a user gives.

A setting is declared once, as a field of a dataclass:

    dropout: float = setting(0.0, "Rate at embeddings, in training only.", below=1)

Its type is the annotation. The base config (pe_lab/studies/base.py), the checks, the reader of
configs and evaluation overrides, and the page of settings all read the declaration.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, get_type_hints

from pe_lab.runs import typed_values
from pe_lab.runs.errors import UserError, unknown


@dataclass(frozen=True)
class Setting:
    """The declaration of a setting.

    Attributes:
      default: its value in the base config. Plugins are plain values: dict(name=...).
      meaning: one or two sentences, with the unit.
      at_least: bounds of a number. With `below`, a number is not negative either.
    """

    default: object
    meaning: str
    at_least: int | None = None
    above: int | None = None
    at_most: int | None = None
    below: int | None = None

    @property
    def bounds(self) -> str:
        """The bounds in words, as in "at least 1"; "" without bounds."""
        parts = []
        if self.at_least is not None:
            parts.append(f"at least {self.at_least}")
        if self.above is not None:
            parts.append(f"more than {self.above}")
        if self.at_most is not None:
            parts.append(f"at most {self.at_most}")
        if self.below is not None:
            parts.append(f"in [0, {self.below})")
        return ", ".join(parts)

    def check(self, value: object, name: str) -> None:
        """Check that a number is within its bounds.

        Raises:
          UserError: it is not.
        """
        if not isinstance(value, int | float):
            return  # None, or a name such as "solved"
        if self.at_least is not None and value < self.at_least:
            raise UserError(f"{name} must be at least {self.at_least}, got {value}.")
        if self.above is not None and value <= self.above:
            raise UserError(f"{name} must be more than {self.above}, got {value}.")
        if self.at_most is not None and value > self.at_most:
            raise UserError(f"{name} must be at most {self.at_most}, got {value}.")
        if self.below is not None and not 0 <= value < self.below:
            raise UserError(f"{name} must be in [0, {self.below}), got {value}.")


def setting(
    default: object,
    meaning: str,
    *,
    at_least: int | None = None,
    above: int | None = None,
    at_most: int | None = None,
    below: int | None = None,
    in_all_records: bool = True,
) -> Any:
    """Return the field of a setting.

    Args:
      in_all_records: False: records from before the setting existed lack it. They have the default.
        A setting of all records has no default in Python, because a record without it is damaged.
    """
    declared = Setting(default, meaning, at_least, above, at_most, below)
    metadata = {"setting": declared}
    if in_all_records:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def declared_settings(cls: type) -> dict[str, Setting]:
    """Return the settings of a dataclass by name, in the order of their declaration."""
    settings = {}
    for field in dataclasses.fields(cls):
        if "setting" in field.metadata:
            settings[field.name] = field.metadata["setting"]
    return settings


def check_keys(owner: str, values: Iterable[object], names: Iterable[str]) -> None:
    """Check that every key is one of the names.

    Raises:
      UserError: one is not; the sentence has the nearest name.
    """
    names = list(names)
    for key in values:
        if key not in names:
            raise unknown(owner, str(key), names)


def read(
    cls: type,
    values: Mapping[str, Any],
    name_of: Callable[[str], str],
    readers: Mapping[str, Callable[[Any], object]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the values of a dataclass's fields, each checked against its type and its bounds.

    Fields without a value are left out, and so are values without a field.

    Args:
      name_of: the name of a field in errors: "config.train.{}".format.
      readers: functions of a value, by its name in errors, for what is more than a plain value.
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
