"""Measures and draws encodings without training, or a trained run.

    pe-lab inspect sinusoidal 'rope(base=5e5)' my_package.mine:Mine
        [--length=64] [--width=64] [--num-heads=4] [--positions=normalized]
        [--out=results/inspect]
    pe-lab inspect quickstart --run=RUN_ID [--lengths=8,16] [--out=FOLDER]
    pe-lab inspect quickstart --run=RUN_ID --other-run=RUN_ID [--lengths=8,16]

The parameters of encodings are freshly initialized. A run that was trained with
--config.checkpoints.keep_curve=True is also shown at each step of its curve. The default output
folder is results/inspect for encodings and STUDY_FOLDER/inspect/RUN_ID for a run. With another run,
the divergence of their attention is printed for each layer and pair of heads. Exit status: 0, or 2
for wrong arguments.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pe_lab.cli import _config_files
from pe_lab.cli._arguments import (
    allow_plugins,
    arguments,
    file_path,
    flag,
    whole_number,
    whole_numbers,
)
from pe_lab.runs.errors import UserError
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.settings.labels import parse_several
from pe_lab.runs.system import terminal

_LENGTH, _WIDTH, _HEADS = 64, 64, 4


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab inspect`."""

    names: Sequence[str] = arguments("encodings to compare; with --run, a study")
    run: str | None = flag("id of a finished run of the study", default=None)
    other_run: str | None = flag("id of a run whose attention is compared with it", default=None)
    length: int | None = flag(f"number of positions ({_LENGTH})", whole_number(1), default=None)
    width: int | None = flag(f"width of the model ({_WIDTH})", whole_number(1), default=None)
    num_heads: int | None = flag(f"its attention heads ({_HEADS})", whole_number(1), default=None)
    positions: str | None = flag("position scheme (contiguous)", default=None)
    lengths: Sequence[int] = flag(
        "lengths of a run's examples: 8,16; default: 1, 1.5 and 2 times the training length",
        whole_numbers(1),
        default=(),
    )
    out: Path | None = flag("output folder", file_path, default=None)
    allow_plugins: Sequence[str] = allow_plugins()


def run(options: Options) -> int:
    if not options.names:
        raise UserError(
            "Which encodings, or which run? pe-lab inspect sinusoidal rope, or "
            "pe-lab inspect quickstart --run=RUN_ID."
        )
    if options.run is None:
        if options.lengths:
            raise UserError("--lengths needs --run. The number of positions is --length.")
        if options.other_run is not None:
            raise UserError("--other-run needs --run, the run that it is compared with.")
        _inspect_encodings(options)
        return 0
    for name in ("length", "width", "num_heads", "positions"):
        if getattr(options, name) is not None:
            raise UserError(f"--{name.replace('_', '-')} is for encodings. A run takes --lengths.")
    if not options.run:
        raise UserError("--run takes the id of a run, got ''.")
    if len(options.names) > 1:
        raise UserError(f"--run needs one study, got {' '.join(options.names)}.")
    study = _config_files.study_folder(options.names[0])
    if options.other_run is not None:
        if options.out is not None:
            raise UserError("--out is for pages and pictures. --other-run prints its table.")
        _compare_runs(study, options.run, options.other_run, options)
        return 0
    _inspect_run(study, options.run, options)
    return 0


def _inspect_encodings(options: Options) -> None:
    specs, scheme = _specs(options), _scheme(options)
    from pe_lab.contrib.inspection import scorecard_report  # imports JAX
    from pe_lab.contrib.inspection.untrained import UntrainedEncoding

    encodings = []
    for spec in specs:
        arguments = {key: value for key, value in spec.items() if key != "positions"}
        positions = spec.get("positions", scheme)  # an encoding may name its own scheme
        if isinstance(positions, str):
            positions = dict(name=positions)
        encoding = UntrainedEncoding(
            arguments,
            positions=positions,
            length=options.length or _LENGTH,
            width=options.width or _WIDTH,
            num_heads=options.num_heads or _HEADS,
        )
        encodings.append(encoding)
    folder = options.out or Path("results/inspect")
    card = scorecard_report.write(encodings, folder)
    terminal.show(f"\n{card}\n\nscorecard  {folder}/scorecard.md, {folder}/scorecard.csv")
    terminal.show(f"pictures   {folder}/*.png, *.pdf")


def _inspect_run(study: Path, run_id: str, options: Options) -> None:
    if "/" in run_id:
        raise UserError(f"--run takes the id of a run, got {run_id!r}.")
    from pe_lab.contrib.inspection.trained import run_report  # imports JAX

    run = study / run_id
    folder = options.out or study / "inspect" / run_id
    knock_outs = run_report.write(run, tuple(options.lengths) or None, folder)
    terminal.show(f"\nexact match (token accuracy) with an encoding off:\n\n{knock_outs}\n")
    terminal.show(f"run        {folder}/trained.md, {folder}/trained.json")
    terminal.show(f"pictures   {folder}/*.png, *.pdf")


def _compare_runs(study: Path, run_id: str, other_id: str, options: Options) -> None:
    from pe_lab.contrib.inspection.trained import attention_divergence  # imports JAX
    from pe_lab.contrib.inspection.trained.loaded_model import LoadedModel
    from pe_lab.contrib.inspection.trained.run_inspection import trained_length
    from pe_lab.training.trained_runs import load

    runs = [load(study, name) for name in (run_id, other_id)]
    lengths = tuple(options.lengths) or (trained_length(runs[0]),)
    one, other = (LoadedModel(run, lengths) for run in runs)
    for length in lengths:
        table = attention_divergence.table(attention_divergence.compare(one, other, length))
        terminal.show(f"\nJensen-Shannon divergence in bits at length {length}:\n\n{table}")


def _specs(options: Options) -> list[JsonObject]:
    """Return the encodings, each once."""
    specs = parse_several(", ".join(options.names))
    return [spec for i, spec in enumerate(specs) if spec not in specs[:i]]


def _scheme(options: Options) -> JsonObject:
    schemes = parse_several(options.positions or "contiguous")
    if len(schemes) != 1:
        raise UserError(f"--positions takes one scheme, got {options.positions!r}.")
    return schemes[0]
