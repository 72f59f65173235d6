"""What an inspection leaves: scorecard.md, scorecard.csv, and pictures as PNG and PDF."""

import re
from collections.abc import Sequence
from pathlib import Path

from pe_lab.inspection import encoding_pictures, scorecard
from pe_lab.inspection.captions import caption
from pe_lab.inspection.untrained import UntrainedEncoding
from pe_lab.results.plots.drawing import SUFFIXES
from pe_lab.runs.errors import UserError, one_line


def write(probes: Sequence[UntrainedEncoding], folder: Path) -> str:
    """Everything of these encodings into a folder; returns the scorecard.

    Raises:
      UserError: one of them, a user's own perhaps, cannot be read.
    """
    rows = [_row(probe) for probe in probes]
    folder.mkdir(parents=True, exist_ok=True)
    sections = []
    for probe, row, stem in zip(probes, rows, file_stems(probes), strict=True):
        encoding_pictures.draw(probe, _files(folder, stem))
        sections.append(f"## {row.name}\n\n![{row.name}]({stem}.png)\n\n{caption(row)}")
    with_path, with_similarity = encoding_pictures.comparable(probes)
    for name, drawn, among in (
        ("paths", encoding_pictures.draw_paths, with_path),
        ("similarities", encoding_pictures.draw_similarities, with_similarity),
    ):
        if len(among) > 1:
            drawn(among, _files(folder, name))
            sections.append(f"## {name.capitalize()} side by side\n\n![{name}]({name}.png)")
    card, size = scorecard.table(rows), probes[0]
    head = (
        f"# Scorecard\n\nLength {size.length}, width {size.width}, {size.num_heads} heads; "
        f"seed {size.seed} of the parameters."
    )
    parts = [
        head,
        card,
        scorecard.legend() + "\n" + scorecard.reasons(rows),
        *sections,
        "## Every number",
        scorecard.all_numbers(rows),
    ]
    (folder / "scorecard.md").write_text(
        "\n\n".join(part.strip() for part in parts) + "\n", encoding="utf-8"
    )
    (folder / "scorecard.csv").write_text(scorecard.as_csv(rows), encoding="utf-8")
    return card


def file_stems(probes: Sequence[UntrainedEncoding]) -> list[str]:
    """Their names as those of files, rope_base_500000_0; what differs in signs alone is numbered,
    rope_base_500000_0__2.
    """
    stems = [re.sub(r"\W+", "_", probe.name).strip("_") for probe in probes]
    return [
        f"{stem}__{before + 1}" if (before := stems[:i].count(stem)) else stem
        for i, stem in enumerate(stems)
    ]


def _files(folder: Path, stem: str) -> list[Path]:
    return [folder / f"{stem}{suffix}" for suffix in SUFFIXES]


def _row(probe: UntrainedEncoding) -> scorecard.Row:
    try:
        return scorecard.row(probe)
    except (TypeError, ValueError, AttributeError) as e:
        if isinstance(e, UserError):
            raise
        raise UserError(f"{probe.name} cannot be read: {type(e).__name__}: {one_line(e)}") from e
