"""A plugin of a run: its name and its arguments as plain data. plugins.py finds its class."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pe_lab.runs.records.record_schema import JsonObject


@dataclass(frozen=True)
class Plugin:
    """A name and all its arguments, with defaults.

    An argument may be a plugin of the family, or a tuple of plugins.
    """

    name: str
    arguments: tuple[tuple[str, Any], ...]

    @classmethod
    def from_dict(cls, values: JsonObject) -> "Plugin":
        """Return the plugin of the plain values that `to_dict` returned. Nothing is imported."""
        arguments = dict(values)
        name = arguments.pop("name")
        items = [(key, _argument(value)) for key, value in arguments.items()]
        return cls(name, tuple(sorted(items)))

    def to_dict(self) -> dict[str, object]:
        """Return plain values: the name and the arguments."""
        values: dict[str, object] = {"name": self.name}
        for key, value in self.arguments:
            values[key] = _plain_argument(value)
        return values

    def parts(self) -> list["Plugin"]:
        """Return the plugin and the plugins among its arguments."""
        parts = [self]
        for _, value in self.arguments:
            items = value if isinstance(value, tuple) else (value,)
            for item in items:
                if isinstance(item, Plugin):
                    parts += item.parts()
        return parts


def _argument(value: object) -> object:
    """Return an argument of plain values: a plugin, a tuple, or the value."""
    if isinstance(value, Mapping):
        return Plugin.from_dict(value)
    if isinstance(value, list | tuple):
        return tuple(_argument(item) for item in value)
    return value


def _plain_argument(value: object) -> object:
    """Return an argument with plugins as plain values."""
    if isinstance(value, tuple):
        return tuple(_plain_argument(item) for item in value)
    return value.to_dict() if isinstance(value, Plugin) else value
