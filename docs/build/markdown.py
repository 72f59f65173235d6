"""Markdown tables of pages."""

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first row is its header."""
    header, *body = [[cell.replace("|", r"\|") for cell in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in (header, *body)]
    lines.insert(1, "|" + "---|" * len(header))
    return "\n".join(lines)
