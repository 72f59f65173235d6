"""Output files of an inspection of encodings: scorecard.md, scorecard.csv and pictures."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from pe_lab.contrib.inspection import encoding_pictures, scorecard
from pe_lab.contrib.inspection.panels import SUFFIXES
from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from pe_lab.runs.errors import UserError, described
from pe_lab.runs.system import files

Draw = Callable[[Sequence[UntrainedEncoding], Sequence[Path]], None]


def write(encodings: Sequence[UntrainedEncoding], folder: Path) -> str:
    """Write all output files into a folder, and return the scorecard.

    Raises:
      UserError: one of the encodings, perhaps of the user's own package, fails.
    """
    rows = [_row(encoding) for encoding in encodings]
    folder.mkdir(parents=True, exist_ok=True)
    sections = []
    for encoding, row, stem in zip(encodings, rows, file_stems(encodings), strict=True):
        encoding_pictures.draw(encoding, _files(folder, stem))
        caption = encoding_pictures.caption(row)
        sections.append(f"## {row.name}\n\n![{row.name}]({stem}.png)\n\n{caption}")
    embeddings = [encoding for encoding in encodings if encoding.kind == "embedding"]
    with_table = [encoding for encoding in encodings if encoding.kind is not None]
    comparisons: tuple[tuple[str, str, Draw, list[UntrainedEncoding]], ...] = (
        ("paths", "Paths of embeddings", encoding_pictures.draw_paths, embeddings),
        ("similarities", "Similarity by distance", encoding_pictures.draw_similarities, with_table),
    )
    for stem, title, draw, compared in comparisons:
        if len(compared) > 1:  # one encoding is compared with no other
            draw(compared, _files(folder, stem))
            sections.append(f"## {title}\n\n![{title}]({stem}.png)")
            if draw is encoding_pictures.draw_similarities and len(compared) < len(encodings):
                absent = ", ".join(e.name for e in encodings if e.kind is None)
                sections.append(f"Without a table, and so not in this picture: {absent}.")
    card = scorecard.table(rows)
    parts = [
        _introduction(encodings[0]),
        card,
        scorecard.legend() + "\n" + scorecard.reasons(rows),
        *sections,
        "## All numbers",
        scorecard.all_numbers(rows),
    ]
    page = "\n\n".join(part.strip() for part in parts) + "\n"
    files.write_text(folder / "scorecard.md", page)
    files.write_text(folder / "scorecard.csv", scorecard.as_csv(rows))
    return card


def file_stems(encodings: Sequence[UntrainedEncoding]) -> list[str]:
    """File names of the encodings, such as rope_base_500000_0, numbered where they coincide."""
    stems = [re.sub(r"\W+", "_", encoding.name).strip("_") for encoding in encodings]
    numbered = []
    for i, stem in enumerate(stems):
        before = stems[:i].count(stem)
        numbered.append(f"{stem}__{before + 1}" if before else stem)
    return numbered


def _introduction(encoding: UntrainedEncoding) -> str:
    return (
        f"# Scorecard\n\nProperties of position encodings before any training, with length "
        f"{encoding.length}, width {encoding.width}, {encoding.num_heads} heads and parameters of "
        f"seed {encoding.seed}. A cell is a verdict and the number behind it. The properties "
        f"describe the encoding alone: they do not say how well a model trains with it or how far "
        f"it generalizes."
    )


def _files(folder: Path, stem: str) -> list[Path]:
    return [folder / f"{stem}{suffix}" for suffix in SUFFIXES]


def _row(encoding: UntrainedEncoding) -> scorecard.Row:
    try:
        return scorecard.row(encoding)
    # An encoding of the user's own package may fail in any of these ways.
    except (TypeError, ValueError, AttributeError) as e:
        if isinstance(e, UserError):
            raise
        reason = described(e)
        raise UserError(f"{encoding.name} cannot be read: {reason}") from e
