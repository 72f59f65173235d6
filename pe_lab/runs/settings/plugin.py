"""The plugins of a run, as names and arguments that are plain data. plugins.py finds their classes.

An encoding also has the part of the model in which it acts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.settings.declarations import declared_settings, setting


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


@dataclass(frozen=True, kw_only=True)
class Encoding(Plugin):
    """An encoding with its arguments, and the part of the model in which it acts."""

    layers: tuple[int, ...] | None = setting(None, "Layers of attention. None: all of them.")
    # None for an input encoding, and so are `layers` and `heads`.
    share: bool | None = setting(None, "One module for all layers, or one for each layer.")
    heads: tuple[int, ...] | None = setting(None, "Heads that read it. None: all of them.")
    stacks: tuple[str, ...] | None = setting(
        None, "encoder, decoder or cross. None: every input, or every self-attention."
    )
    axis: int | None = setting(
        None, "Axis that it reads of positions with several. None: it reads all axes."
    )
    positions: Plugin | None = setting(
        None, "Its own position scheme. None: the scheme of the run."
    )
    # The class says it. It is here so that a run's id is known without importing the class.
    reads_positions: bool

    @classmethod
    def from_dict(cls, values: JsonObject) -> "Encoding":
        """Return the encoding of the plain values that `to_dict` gave."""
        arguments = dict(values)
        reads_positions = arguments.pop("reads_positions")
        site = {key: arguments.pop(key, None) for key in declared_settings(cls)}
        for key in ("layers", "heads", "stacks"):  # JSON has lists
            if site[key] is not None:
                site[key] = tuple(site[key])
        if site["positions"] is not None:
            site["positions"] = Plugin.from_dict(site["positions"])
        plugin = Plugin.from_dict(arguments)
        return cls(plugin.name, plugin.arguments, **site, reads_positions=reads_positions)

    def to_dict(self) -> dict[str, object]:
        return {**self.settings(), "reads_positions": self.reads_positions}

    def settings(self) -> dict[str, object]:
        """Return the values that a config may hold."""
        values = {**super().to_dict(), "stacks": self.stacks, "axis": self.axis}
        if self.share is not None:
            values |= {"layers": self.layers, "share": self.share}
        # Runs from before these two existed keep their ids, so they are left out where unused.
        if self.heads is not None:
            values["heads"] = self.heads
        if self.positions is not None:
            values["positions"] = self.positions.to_dict()
        return values

    def acts_in(self, stack: str) -> bool:
        """Return whether it acts in a stack. In cross-attention it acts only if it names it."""
        if self.stacks is None:
            return stack != "cross"
        return stack in self.stacks
