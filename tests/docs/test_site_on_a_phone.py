"""The style sheet of the site at the width of a phone, in a real browser."""

from pathlib import Path

import pytest

from tests.browser import browser

pytestmark = pytest.mark.slow

STYLE = Path(__file__).parents[2] / "docs" / "site" / "static" / "site.css"
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="1360" height="400"/>'
PAGE = """<!doctype html><meta name="viewport" content="width=device-width">
<style>body {{ margin: 16px; font: 13px sans-serif }} {style}</style>
<article>
<p id="words">words</p>
<p id="picture"><img src="picture.svg"></p>
<section id="settings"><table class="docutils">
<thead><tr><th>setting</th><th>default</th><th>values</th><th>meaning</th></tr></thead>
<tr><td><code>norm_after_attention</code></td>
<td><code>{{'name': 'contiguous'}}</code></td><td><p></p></td>
<td><p>A class: dict(study="exposure",select=dict(model=dict(encodings="rope")))</p></td></tr>
</table></section>
</article>"""
HINT = 'getComputedStyle(document.querySelector("#{}"), "::before").content'


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "picture.svg").write_text(PICTURE)
    (folder / "page.html").write_text(PAGE.format(style=STYLE.read_text()))
    with browser() as started:

        def at(width):
            page = started.new_page(viewport={"width": width, "height": 900})
            page.goto((folder / "page.html").as_uri())
            return page

        yield at


def test_a_picture_on_a_phone_keeps_its_size_and_says_that_it_scrolls(opened):
    page = opened(400)
    assert page.evaluate('document.querySelector("#picture img").clientWidth') == 672
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert "scroll sideways" in page.evaluate(HINT.format("picture"))
    assert page.evaluate(HINT.format("words")) == "none"
    assert opened(1400).evaluate(HINT.format("picture")) == "none"


def test_a_table_of_settings_fits_on_a_phone(opened):
    cells = '[...document.querySelectorAll("#settings td")].map(c => c.getBoundingClientRect())'
    on_a_phone = opened(400).evaluate(f"{cells}.map(c => [c.left, c.top, c.right])")
    name, default, empty, meaning = on_a_phone
    assert name[1] < default[1] < meaning[1]
    assert max(cell[2] for cell in on_a_phone) <= 400
    assert empty == [0, 0, 0]
    tops = opened(1400).evaluate(f"{cells}.map(c => c.top)")
    assert len(set(tops)) == 1
