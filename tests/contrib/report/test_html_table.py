import html

import pytest

from pe_lab.contrib.report.html_table import as_html
from pe_lab.results.formats import Cell, Table
from tests.results.test_formats import TABLE


def test_html_has_headings_for_columns_and_rows_and_the_number_behind_each_cell():
    assert as_html(TABLE) == (
        '<figure class="table">\n'
        "<figcaption><strong>By length.</strong> Of <em>solved</em> runs &amp; more.</figcaption>\n"
        '<table>\n<thead><tr><th scope="col">variant</th><th scope="col">→8</th></tr></thead>\n'
        '<tbody>\n<tr><th scope="row">a|b &lt;i&gt;</th><td data-value="0.5">0.50</td></tr>\n'
        '<tr><th scope="row">c_1</th><td>–</td></tr>\n</tbody>\n</table>\n'
        '<ul class="notes"><li>–: none.</li></ul>\n</figure>\n'
    )


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", 'a" onclick="x', "</td></table>", "&lt;"]
)
def test_names_from_a_config_stay_text_in_html(text):
    def table_of(text):
        return Table(text, text, (text, text), ((Cell(text), Cell(text, text)),), (text,))

    assert as_html(table_of(text)) == as_html(table_of("X")).replace("X", html.escape(text))
