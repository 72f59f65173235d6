"""Inspects encodings without training, or a trained run: measurements and pictures.

    python -m experiments.inspect --encodings=sinusoidal,binary,learned
        [--length=64] [--width=64] [--num_heads=4] [--positions=normalized] [--out=results/inspect]
    python -m experiments.inspect --study=quickstart --run=RUN_ID [--lengths=8,16] [--out=FOLDER]

Encodings are written as in tables, with arguments or as classes of your own package:
--encodings="rope(base=5e5), my.module:Mine". Their parameters are freshly initialized.
--results=FOLDER names the study of a run by its folder. A run that was trained with
--config.checkpoints.keep_curve is also shown at each step of its curve. The default output folder
is results/inspect for encodings and STUDY_FOLDER/inspect/RUN_ID for a run. Exit status: 0, or 2
for wrong arguments.
"""

from pathlib import Path
from typing import Any

from absl import flags

from experiments import command_line, study_folder
from pe_lab.inspection import scorecard_report
from pe_lab.inspection.untrained import UntrainedEncoding
from pe_lab.runs.errors import UserError
from pe_lab.runs.labels import parse_several

_ENCODINGS = flags.DEFINE_string("encodings", None, "encodings to compare, separated by commas")
_LENGTH = flags.DEFINE_integer("length", 64, "number of positions", lower_bound=1)
_WIDTH = flags.DEFINE_integer("width", 64, "width of the model", lower_bound=1)
_HEADS = flags.DEFINE_integer("num_heads", 4, "attention heads of the model", lower_bound=1)
_POSITIONS = flags.DEFINE_string("positions", "contiguous", "position scheme")
study_folder.define()
_RUN = flags.DEFINE_string("run", None, "id of a finished run of the study")
_LENGTHS = flags.DEFINE_list(
    "lengths",
    None,
    "lengths of a run's examples: 8,16; default: 1, 1.5 and 2 times the training length",
)
_OUT = flags.DEFINE_string(
    "out",
    None,
    "output folder; default: results/inspect, or inspect/RUN_ID in the study's folder for a run",
)


def main() -> int:
    if not _ENCODINGS.value and not _RUN.value:
        raise UserError(
            "Which encodings, or which run? --encodings=sinusoidal,binary,learned or "
            "--study=quickstart --run=RUN_ID."
        )
    if _LENGTHS.value is not None and not _RUN.value:
        raise UserError("--lengths needs --run. The number of positions of encodings is --length.")
    if not _ENCODINGS.value and (
        alone := [holder.name for holder in (_LENGTH, _WIDTH, _HEADS, _POSITIONS) if holder.present]
    ):
        raise UserError(f"--{alone[0]} needs --encodings. A run takes --lengths.")
    if _ENCODINGS.value:
        folder = Path(_OUT.value or "results/inspect")
        print(
            f"\n{scorecard_report.write(_probes(_ENCODINGS.value), folder)}\n\nscorecard  "
            f"{folder}/scorecard.md, {folder}/scorecard.csv"
        )
        print(f"pictures   {folder}/*.png, *.pdf")
    if _RUN.value:
        # Imported here because training and its libraries take a second to import.
        from pe_lab.inspection.trained import run_report

        lengths = (
            None
            if _LENGTHS.value is None
            else command_line.whole_numbers("lengths", _LENGTHS.value)
        )
        if "/" in _RUN.value:
            raise UserError(
                "--run takes the id of a run. Name its study with --study=NAME or --results=FOLDER."
            )
        run = study_folder.folder() / _RUN.value
        folder = Path(_OUT.value) if _OUT.value else run.parent / "inspect" / run.name
        left = run_report.write(run, lengths, folder)
        print(
            f"\nexact match (token accuracy) with an encoding off:\n\n{left}\n\nrun        "
            f"{folder}/trained.md, {folder}/trained.json"
        )
        print(f"pictures   {folder}/*.png, *.pdf")
    return 0


def _probes(text: str) -> list[UntrainedEncoding]:
    if len(schemes := parse_several(_POSITIONS.value or "")) != 1:
        raise UserError(f"--positions takes one scheme, got {_POSITIONS.value!r}.")
    sizes: dict[str, Any] = dict(length=_LENGTH.value, width=_WIDTH.value, num_heads=_HEADS.value)
    specs = parse_several(text)
    distinct = [spec for i, spec in enumerate(specs) if spec not in specs[:i]]
    return [_probe(spec, schemes[0], sizes) for spec in distinct]


def _probe(
    spec: dict[str, Any], study_scheme: dict[str, Any], sizes: dict[str, Any]
) -> UntrainedEncoding:
    """A probe of an encoding, with its own position scheme if it names one."""
    arguments = {key: value for key, value in spec.items() if key != "positions"}
    positions = spec.get("positions", study_scheme)
    if isinstance(positions, str):
        positions = dict(name=positions)
    return UntrainedEncoding(arguments, positions=positions, **sizes)


if __name__ == "__main__":
    command_line.run(main)
