"""Shows what encodings are, before any training or in a trained model: a scorecard, every number
behind it, and pictures.

    python -m experiments.inspect --encodings=sinusoidal,binary,learned
        [--length=64] [--width=64] [--num_heads=4] [--positions=normalized] [--out=results/inspect]
    python -m experiments.inspect --run=results/quickstart/RUN_ID [--lengths=8,16] [--out=FOLDER]

Encodings stand as in a config, with arguments or a class of one's own: --encodings="rope(base=5e5),
my.module:Mine"; their parameters are fresh. A run is named by its results folder and its id; one
that was trained with --config.checkpoints.keep_curve is shown through training too. By default a
run is written to results/<study>/inspect/RUN_ID, and encodings to results/inspect. Exit status: 0,
or 2 for a mistake.
"""

from pathlib import Path
from typing import Any

from absl import flags

from experiments import command_line
from pe_lab.inspection import report
from pe_lab.inspection.probe import Probe
from pe_lab.runs.errors import UserError
from pe_lab.runs.labels import parse_several

_ENCODINGS = flags.DEFINE_string("encodings", None, "encodings side by side, with commas between")
_LENGTH = flags.DEFINE_integer("length", 64, "tokens of an example", lower_bound=1)
_WIDTH = flags.DEFINE_integer("width", 64, "of the model that they are made for", lower_bound=1)
_HEADS = flags.DEFINE_integer("num_heads", 4, "of that model", lower_bound=1)
_POSITIONS = flags.DEFINE_string("positions", "contiguous", "the scheme that gives positions")
_RUN = flags.DEFINE_string(
    "run", None, "a finished run: its results folder and its id, with a slash between"
)
_LENGTHS = flags.DEFINE_list(
    "lengths",
    None,
    "of a run's examples, in the task's unit: 8,16; None: 1, 1.5 and 2 times the training length",
)
_OUT = flags.DEFINE_string(
    "out",
    None,
    "the folder to write into; default results/inspect, or <study's folder>/inspect/RUN_ID for a "
    "run",
)


def main() -> int:
    if not _ENCODINGS.value and not _RUN.value:
        raise UserError(
            "Which encodings, or which run? --encodings=sinusoidal,binary,learned or "
            "--run=results/quickstart/RUN_ID."
        )
    if _LENGTHS.value is not None and not _RUN.value:
        raise UserError(
            "--lengths are those of a run's examples: give --run, or --length for encodings."
        )
    if not _ENCODINGS.value and (
        alone := [holder.name for holder in (_LENGTH, _WIDTH, _HEADS, _POSITIONS) if holder.present]
    ):
        raise UserError(
            f"--{alone[0]} is of encodings that are looked at alone: give --encodings, or "
            f"--lengths for a run."
        )
    if _ENCODINGS.value:
        folder = Path(_OUT.value or "results/inspect")
        print(
            f"\n{report.write(_probes(_ENCODINGS.value), folder)}\n\nscorecard  "
            f"{folder}/scorecard.md, {folder}/scorecard.csv"
        )
        print(f"pictures   {folder}/*.png, *.pdf")
    if _RUN.value:
        from pe_lab.inspection.trained import (
            report as trained,
        )  # training and its libraries take a second to import

        lengths = (
            None
            if _LENGTHS.value is None
            else command_line.whole_numbers("lengths", _LENGTHS.value)
        )
        run = Path(_RUN.value)
        folder = Path(_OUT.value) if _OUT.value else run.parent / "inspect" / run.name
        left = trained.write(run, lengths, folder)
        print(
            f"\nexact match (token accuracy) with an encoding off:\n\n{left}\n\nrun        "
            f"{folder}/trained.md, {folder}/trained.json"
        )
        print(f"pictures   {folder}/*.png, *.pdf")
    return 0


def _probes(text: str) -> list[Probe]:
    if len(schemes := parse_several(_POSITIONS.value or "")) != 1:
        raise UserError(f"--positions is one scheme, got {_POSITIONS.value!r}.")
    sizes: dict[str, Any] = dict(length=_LENGTH.value, width=_WIDTH.value, num_heads=_HEADS.value)
    specs = parse_several(text)
    distinct = [spec for i, spec in enumerate(specs) if spec not in specs[:i]]
    return [_probe(spec, schemes[0], sizes) for spec in distinct]


def _probe(spec: dict[str, Any], study_scheme: dict[str, Any], sizes: dict[str, Any]) -> Probe:
    """A probe of an encoding, with its own position scheme if it names one."""
    arguments = {key: value for key, value in spec.items() if key != "positions"}
    positions = spec.get("positions", study_scheme)
    if isinstance(positions, str):
        positions = dict(name=positions)
    return Probe(arguments, positions=positions, **sizes)


if __name__ == "__main__":
    command_line.run(main)
