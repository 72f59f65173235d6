"""An encoding of a run: its class's name and arguments, and where in the model it acts."""

from dataclasses import dataclass

from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.settings.declarations import declared_settings, setting
from pe_lab.runs.settings.plugin import Plugin


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
