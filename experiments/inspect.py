"""Shows what encodings are before any training: a scorecard, every number behind it, and pictures.

    python -m experiments.inspect --encodings=sinusoidal,binary,learned [--length=64] [--width=64] [--num_heads=4]
                                  [--positions=normalized] [--out=results/inspect]

Encodings stand as in a config, with arguments or a class of one's own: --encodings="rope(base=5e5), my.module:Mine".
Parameters are fresh. Exit status: 0, or 2 for a mistake.
"""

from pathlib import Path
from typing import Any

from absl import flags

from experiments import command_line
from pe_lab.diagnostics import report
from pe_lab.diagnostics.probe import Probe
from pe_lab.errors import UserError
from pe_lab.labels import parse_several

_ENCODINGS = flags.DEFINE_string("encodings", None, "encodings side by side, with commas between")
_LENGTH = flags.DEFINE_integer("length", 64, "tokens of an example", lower_bound=1)
_WIDTH = flags.DEFINE_integer("width", 64, "of the model that they are made for", lower_bound=1)
_HEADS = flags.DEFINE_integer("num_heads", 4, "of that model", lower_bound=1)
_POSITIONS = flags.DEFINE_string("positions", "contiguous", "the scheme that gives positions")
_OUT = flags.DEFINE_string("out", "results/inspect", "the folder to write into")


def main() -> int:
    if not _ENCODINGS.value:
        raise UserError("Which encodings? --encodings=sinusoidal,binary,learned.")
    if len(schemes := parse_several(_POSITIONS.value or "")) != 1:
        raise UserError(f"--positions is one scheme, got {_POSITIONS.value!r}.")
    sizes: dict[str, Any] = dict(length=_LENGTH.value, width=_WIDTH.value, num_heads=_HEADS.value, positions=schemes[0])
    specs = parse_several(_ENCODINGS.value)
    probes = [Probe(spec, **sizes) for i, spec in enumerate(specs) if spec not in specs[:i]]
    folder = Path(_OUT.value or "")
    print(f"\n{report.write(probes, folder)}\n\nscorecard  {folder}/scorecard.md, {folder}/scorecard.csv\npictures   {folder}/*.png, *.pdf")
    return 0


if __name__ == "__main__":
    command_line.run(main)
