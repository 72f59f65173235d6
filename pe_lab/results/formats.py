"""A table, and the four ways in which it is written: Markdown, CSV, LaTeX (booktabs) and HTML."""

import csv
import html
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

DASH = "–"
_TALL = 40  # rows that a page of LaTeX holds
_EMPHASIS = re.compile(r"\*(\w[^*]*)\*")

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "→": r"$\rightarrow$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "−": r"$-$",
    "·": r"$\cdot$",
    "–": "--",
    "—": "---",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "§": r"\S{}",
    "…": r"\ldots{}",
    "∞": r"$\infty$",
}


@dataclass(frozen=True)
class Cell:
    """What is shown, and the number behind it where it has one: unrounded, and what a page sorts
    by.
    """

    text: str = ""
    value: Any = None


@dataclass(frozen=True)
class Table:
    """Rows of cells under a header; the first cell of a row is its name.

    The caption says what was compared and how often, the notes what each sign means.
    """

    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


def markdown(table: Table) -> str:
    """The table alone; its columns line up as text too."""
    rows = [[_one_line(text).replace("|", "\\|") for text in row] for row in _texts(table)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    header, *body = [
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    return "\n".join([header, "|" + "|".join("-" * (w + 2) for w in widths) + "|", *body])


def as_csv(table: Table) -> str:
    """Numbers unrounded where a cell has one, else its text; nothing for a dash."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.header)
    for row in table.rows:
        writer.writerow(
            ["" if c.text == DASH else c.text if c.value is None else c.value for c in row]
        )
    return text.getvalue()


def latex(table: Table) -> str:
    r"""A table of booktabs with caption and notes; a tall one is a longtable. To be used with
    \input.
    """
    header, *body = [" & ".join(map(_latex, row)) + r" \\" for row in _texts(table)]
    columns = "l" + "r" * (len(table.header) - 1)
    caption = rf"\caption{{{_prose(table.title, _latex)}. {_prose(table.caption, _latex)}}}"
    notes = " ".join(_prose(note, _latex) for note in table.notes)
    if len(body) > _TALL:
        rules = [
            rf"\begin{{longtable}}{{{columns}}}",
            caption + r" \\",
            r"\toprule",
            header,
            r"\midrule",
            r"\endhead",
            *body,
            r"\bottomrule",
        ]
        lines = [r"{\footnotesize", *rules, r"\end{longtable}", notes, "}"]
    else:
        rules = [r"\toprule", header, r"\midrule", *body, r"\bottomrule"]
        fitted = [
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{columns}}}",
            *rules,
        ]
        lines = [
            r"\begin{table}",
            r"\centering",
            caption,
            *fitted,
            r"\end{tabular}}",
            rf"\par\footnotesize {notes}",
            r"\end{table}",
        ]
    return "\n".join(line for line in lines if line) + "\n"


def as_html(table: Table) -> str:
    """A figure with the caption, the table and its notes; all text is escaped, numbers stand in
    data-value.
    """
    header = "".join(f'<th scope="col">{_html(text)}</th>' for text in table.header)
    body = "\n".join(f"<tr>{_html_row(row)}</tr>" for row in table.rows)
    notes = "".join(f"<li>{_prose(note, _html)}</li>" for note in table.notes)
    return (
        f'<figure class="table">\n<figcaption><strong>{_html(table.title)}.</strong> '
        f"{_prose(table.caption, _html)}</figcaption>\n"
        f"<table>\n<thead><tr>{header}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"
        + (f'<ul class="notes">{notes}</ul>\n' if notes else "")
        + "</figure>\n"
    )


def _texts(table: Table) -> list[Sequence[str]]:
    return [table.header, *([cell.text for cell in row] for row in table.rows)]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _prose(text: str, written: Callable[[str], str]) -> str:
    """A caption or a note, whose *words* are set off as in Markdown."""
    begin, end = (r"\emph{", "}") if written is _latex else ("<em>", "</em>")
    parts = _EMPHASIS.split(text)
    return "".join(
        f"{begin}{written(part)}{end}" if i % 2 else written(part) for i, part in enumerate(parts)
    )


def _latex(text: str) -> str:
    return re.sub(
        "|".join(map(re.escape, _LATEX)), lambda found: _LATEX[found[0]], re.sub(r"\s+", " ", text)
    )


def _html(text: str) -> str:
    return html.escape(text, quote=True)


def _html_row(row: Sequence[Cell]) -> str:
    first, *others = row
    cells = [f'<th scope="row">{_html(first.text)}</th>']
    for cell in others:
        value = f' data-value="{_html(str(cell.value))}"' if cell.value is not None else ""
        cells.append(f"<td{value}>{_html(cell.text)}</td>")
    return "".join(cells)
