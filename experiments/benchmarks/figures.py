"""The JSON file to which a benchmark adds its figures."""

import json
from pathlib import Path

from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.records.record_schema import JsonObject


def older(out: Path) -> list[JsonObject]:
    """The figures that a file already holds.

    Raises:
      UserError: the file has other content.
    """
    try:
        figures = json.loads(out.read_text(encoding="utf-8")) if out.exists() else []
    except (OSError, ValueError) as e:
        raise UserError(f"--out={out} cannot be read ({one_line(e)}).") from e
    if not isinstance(figures, list):
        raise UserError(f"--out={out} holds no list of figures.")
    return figures
