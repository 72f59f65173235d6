"""The encoding modules of a model, and the positions that each of them reads."""

import dataclasses

from pe_lab.encodings.base import AttentionEncoding, InputEncoding
from pe_lab.model.sites import Site
from pe_lab.model.stack import Stack


@dataclasses.dataclass(frozen=True)
class Placement:
    """An encoding module with the positions that it reads.

    Attributes:
      site: its position scheme and axis.
      streams: the stacks whose positions it reads.
    """

    encoding: InputEncoding | AttentionEncoding
    site: Site
    streams: tuple[str, ...]

    @property
    def name(self) -> str:
        """The word for the encoding in configs: the name of its file."""
        return type(self.encoding).__module__.rpartition(".")[2]

    @property
    def reads_positions(self) -> bool:
        # An encoding without heads acts nowhere, so its positions do not matter.
        return self.encoding.requirements.reads_positions and self.site.heads != ()


def placements_of(
    name: str,
    stack: Stack,
    streams: tuple[str, ...],
) -> list[Placement]:
    """The encodings of a stack.

    Args:
      streams: all of the model; encodings of cross-attention read both.
    """
    across = {site.index for layer in stack.cross_sites for site in layer}
    inputs = zip(stack.input_encodings, stack.input_sites, strict=True)
    placements = [Placement(encoding, site, (name,)) for encoding, site in inputs]
    attention = zip(stack.attention_encodings, stack.attention_sites(), strict=True)
    for encoding, site in attention:
        read_streams = streams if site.index in across else (name,)
        placements.append(Placement(encoding, site, read_streams))
    return placements
