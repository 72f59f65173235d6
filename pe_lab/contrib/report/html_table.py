"""A table as HTML."""

import html
from collections.abc import Sequence

from pe_lab.results.formats import Cell, Table, prose


def as_html(table: Table) -> str:
    """Return a figure with caption, table and notes, as the report page needs it.

    Texts are escaped. Numbers are in data-value, by which the page sorts; DataFrame.to_html has no
    attributes of cells.
    """
    header = "".join(f'<th scope="col">{_html(text)}</th>' for text in table.header)
    body = "\n".join(f"<tr>{_html_row(row)}</tr>" for row in table.rows)
    items = "".join(f"<li>{prose(note, _html)}</li>" for note in table.notes)
    caption = f"<strong>{_html(table.title)}.</strong> {prose(table.caption, _html)}"
    lines = [
        '<figure class="table">',
        f"<figcaption>{caption}</figcaption>",
        "<table>",
        f"<thead><tr>{header}</tr></thead>",
        f"<tbody>\n{body}\n</tbody>",
        "</table>",
        f'<ul class="notes">{items}</ul>' if items else "",
        "</figure>",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _html(text: str) -> str:
    return html.escape(text, quote=True)


def _html_row(row: Sequence[Cell]) -> str:
    first, *others = row
    cells = [f'<th scope="row">{_html(first.text)}</th>']
    for cell in others:
        has_value = cell.value is not None
        attribute = f' data-value="{_html(str(cell.value))}"' if has_value else ""
        cells.append(f"<td{attribute}>{_html(cell.text)}</td>")
    return "".join(cells)
