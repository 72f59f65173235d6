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
    for flag in (_LENGTH, _WIDTH, _HEADS, _POSITIONS):
        if flag.present and not _ENCODINGS.value:
            raise UserError(f"--{flag.name} needs --encodings. A run takes --lengths.")
    if _ENCODINGS.value:
        _inspect_encodings(_ENCODINGS.value)
    if _RUN.value:
        _inspect_run(_RUN.value)
    return 0


def _inspect_encodings(text: str) -> None:
    folder = Path(_OUT.value or "results/inspect")
    card = scorecard_report.write(_untrained(text), folder)
    print(f"\n{card}\n\nscorecard  {folder}/scorecard.md, {folder}/scorecard.csv")
    print(f"pictures   {folder}/*.png, *.pdf")


def _inspect_run(run_id: str) -> None:
    # Imported here because training and its libraries take a second to import.
    from pe_lab.inspection.trained import run_report

    lengths = None
    if _LENGTHS.value is not None:
        lengths = command_line.whole_numbers("lengths", _LENGTHS.value, least=1)
    if "/" in run_id:
        raise UserError(
            "--run takes the id of a run. Name its study with --study=NAME or --results=FOLDER."
        )
    run = study_folder.folder() / run_id
    folder = Path(_OUT.value) if _OUT.value else run.parent / "inspect" / run.name
    knock_outs = run_report.write(run, lengths, folder)
    print(f"\nexact match (token accuracy) with an encoding off:\n\n{knock_outs}\n")
    print(f"run        {folder}/trained.md, {folder}/trained.json")
    print(f"pictures   {folder}/*.png, *.pdf")


def _untrained(text: str) -> list[UntrainedEncoding]:
    """The encodings of the flag, each once."""
    schemes = parse_several(_POSITIONS.value or "")
    if len(schemes) != 1:
        raise UserError(f"--positions takes one scheme, got {_POSITIONS.value!r}.")
    specs = parse_several(text)
    distinct = [spec for i, spec in enumerate(specs) if spec not in specs[:i]]
    return [_encoding(spec, schemes[0]) for spec in distinct]


def _encoding(spec: dict[str, Any], study_scheme: dict[str, Any]) -> UntrainedEncoding:
    """An encoding with its own position scheme if it names one."""
    arguments = {key: value for key, value in spec.items() if key != "positions"}
    positions = spec.get("positions", study_scheme)
    if isinstance(positions, str):
        positions = dict(name=positions)
    return UntrainedEncoding(
        arguments,
        positions=positions,
        length=_LENGTH.value,
        width=_WIDTH.value,
        num_heads=_HEADS.value,
    )


if __name__ == "__main__":
    command_line.run(main)
