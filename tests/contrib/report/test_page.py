"""The page in Chromium, without a network."""

import json
import re

import pytest

from pe_lab.contrib.report import report_file
from pe_lab.results import frame, tables
from pe_lab.runs.records import records
from tests.browser import browser
from tests.contrib.report import pages
from tests.marks import full
from tests.results import synthetic
from tests.results.plots.small_studies import small

pytestmark = pytest.mark.slow

pytest.importorskip("vl_convert")
pytest.importorskip("jinja2")


MARKS = "#chart svg .mark-symbol path"
SWATCHES = "#numbers tbody .swatch line"
NUM_MARKS = len(synthetic.LENGTHS)  # of a variant


@pytest.fixture(scope="module")
def chromium():
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Two tasks, five encodings, two schemes, five seeds, offsets, failures and a run without a
    record.
    """
    folder = tmp_path_factory.mktemp("study")
    synthetic.write(
        folder,
        tasks=("copy", "sort"),
        schemes=("contiguous", "randomized"),
        rates=(),
        seeds=5,
        missing=(3,),
    )
    return report_file.write(frame.read(folder), folder)


@pytest.fixture
def page(chromium, study):
    with pages.opened(chromium, study) as opened:
        yield opened


def rows(page, table="#numbers"):
    names = page.locator(f"{table} tbody tr:visible th").all_inner_texts()
    return [name.strip() for name in names]


def attributes(page, elements, name):
    """The values of an attribute of some elements."""
    return page.locator(elements).evaluate_all(
        "(elements, name) => elements.map((element) => element.getAttribute(name))", name
    )


def wait_for_marks(page, count):
    """Wait until the chart has this number of center marks."""
    page.wait_for_function(f"document.querySelectorAll('{MARKS}').length === {count}")


@pytest.mark.parametrize("theme", ["light", full("dark")])
@pytest.mark.parametrize("width", [400, full(800), full(1600)])
def test_it_fits_the_width_and_sends_no_request(chromium, study, width, theme):
    with pages.opened(chromium, study, width, color_scheme=theme) as page:
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("#chart svg.marks").bounding_box()["width"] <= width


def test_a_column_sorts_up_and_down_by_mouse_and_by_keyboard(page):
    head = page.locator("#numbers thead th", has_text="→16")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    column = "#numbers tbody tr td:nth-child(8)"
    values = [float(value) for value in attributes(page, column, "data-value") if value]
    assert values == sorted(values, reverse=True)
    page.keyboard.press("Enter")  # the button has the focus
    assert head.get_attribute("aria-sort") == "ascending"
    ascending = [float(value) for value in attributes(page, column, "data-value") if value]
    assert ascending == values[::-1]
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_word_filters_chart_and_all_tables(page):
    assert len(rows(page)) == 10
    page.fill("#filter", "ALIBI rand")
    wait_for_marks(page, NUM_MARKS)
    assert rows(page) == ["copy · ALiBi · randomized † ‡"]
    assert {name.rstrip(" †‡") for name in rows(page, "#tables details[open] table")} == {
        "copy · alibi · randomized",
        "sort · alibi · randomized",
    }
    assert len(rows(page, "#run-table")) == 10


def test_a_mark_shows_value_interval_and_seeds(page):
    page.fill("#filter", "copy alibi contiguous")
    wait_for_marks(page, NUM_MARKS)
    page.locator(MARKS).nth(3).hover(force=True)
    page.wait_for_selector("#vg-tooltip-element.visible")
    said = page.locator("#vg-tooltip-element").inner_text()
    assert "copy · ALiBi · contiguous" in said
    assert re.search(r"16 symbols, beyond training", said)
    assert re.search(r"0\.\d+, median", said)
    assert re.search(r"0\.\d+ to 0?[01]\.\d+ \(order statistics\)", said)
    assert "5: " in said
    row = page.locator("#numbers tr.hot").inner_text().strip()
    assert row.startswith("copy · ALiBi · contiguous")


def test_a_row_with_the_focus_is_highlighted_in_the_chart(page):
    """The marks of its variant stay as they are, and all others fade."""
    row = page.locator("#numbers tbody tr").nth(1)
    color = row.locator(".swatch line").get_attribute("stroke")
    row.locator("input").focus()
    page.wait_for_selector(f"{MARKS}[opacity='0.12']")
    looks = zip(attributes(page, MARKS, "stroke"), attributes(page, MARKS, "opacity"), strict=True)
    clear = [look for look in looks if look[1] != "0.12"]
    assert clear == [(color, "1")] * NUM_MARKS
    faded = attributes(page, f"{MARKS}[opacity='0.12']", "stroke")
    assert set(faded) == set(attributes(page, SWATCHES, "stroke")) - {color}


def test_metric_task_and_offset_are_chosen(page):
    page.select_option("#metric", label="token accuracy")
    page.select_option("#task", label="sort")
    page.select_option("#offset", label="16")
    page.locator("#chart svg text", has_text=re.compile("^token accuracy$")).wait_for()
    assert all(name.startswith("sort") for name in rows(page))
    first = page.locator("#numbers tbody tr").first
    assert "not solved" in first.inner_text()
    values = json.loads(page.locator("#data").text_content())["variants"][10]["values"]
    shown = first.locator("td").nth(3).get_attribute("data-value")
    assert shown == str(values["token_accuracy"][1][0]["c"])


def test_a_variant_leaves_the_chart_when_its_box_is_unticked(page):
    before, colors = page.locator(MARKS).count(), attributes(page, SWATCHES, "stroke")
    assert set(attributes(page, MARKS, "stroke")) == set(colors)
    page.locator("#numbers tbody tr").first.locator("input").press("Space")
    wait_for_marks(page, before - NUM_MARKS)
    assert set(attributes(page, MARKS, "stroke")) == set(colors[1:])
    assert attributes(page, SWATCHES, "stroke") == colors  # the table still lists it


def test_every_plot_is_visible_and_described(page):
    """An image that the page's security policy blocks has no width."""
    plots = page.locator("#plots img")
    assert plots.count() == 2  # exact match against length and against the training step
    width = "async (image) => { await image.decode(); return image.naturalWidth; }"
    for image in plots.all():
        assert image.evaluate(width) > 0
        assert image.get_attribute("alt").strip()


def test_no_two_variants_of_the_chart_have_one_color(page):
    """The plots have an axes for each scheme, and five colors in each."""
    colors = attributes(page, SWATCHES, "stroke")
    assert len(rows(page)) == len(set(colors)) == 10


def test_the_chance_level_is_a_labeled_line_of_the_chart(page):
    labels = page.locator("#chart svg .mark-text.role-mark text").all_text_contents()
    assert labels == ["chance level"]
    page.select_option("#metric", label="token accuracy")
    page.wait_for_function("!document.querySelector('#chart svg .mark-text.role-mark text')")


def test_a_filter_takes_labels_as_the_tables_and_as_the_chart_write_them(page):
    for words in ("t5_bias", "T5 bias"):
        page.fill("#filter", f"{words} contiguous")
        assert rows(page) == ["copy · T5 bias · contiguous"]
        assert len(rows(page, "#tables details[open] table")) == 2  # a row for each task


def test_a_run_shows_its_curve_settings_and_origin_and_closes_by_keyboard(page):
    page.locator("#run-table button.show").first.press("Enter")
    page.wait_for_selector("#run-chart svg .mark-line path")
    said = page.locator("#run").inner_text()
    assert "copy · RoPE · contiguous, seed 0" in said
    assert "model.encodings" in said
    assert "0" * 40 in said
    page.keyboard.press("Escape")
    assert not page.locator("#run").is_visible()


def test_failures_and_runs_without_a_record_are_shown(page):
    assert "1 of the study's runs have no record" in page.locator("#problems").inner_text()
    assert page.locator("header").inner_text().count("without a record") == 1


@pytest.mark.parametrize("name", ["table.csv", "table.tex", "synthetic.py"])
def test_files_are_downloaded(page, study, name):
    written = frame.read(study.parent)
    texts = {"table.csv": tables.as_csv(written), "table.tex": tables.latex(written)}
    with page.expect_download() as started:
        page.locator(f"[data-file='{name}']").click()
    assert started.value.suggested_filename == name
    text = started.value.path().read_text(encoding="utf-8")
    assert text == texts.get(name, text)
    assert "rope" in text


HOSTILE = (
    "<script>alert(1)</script>\"'&</title><img src=x onerror=alert(2)> {{ 7 * 7 }} \\u2028 "
    "</script><b>"
)


def test_names_of_configs_are_text_and_nothing_else(chromium, tmp_path):
    name = HOSTILE.replace("/", "").replace("\\", "")  # a study's name is no path
    folder = small(tmp_path, seeds=5, name=name, analysis={"question": HOSTILE})
    told = json.loads((folder / "study.json").read_text())
    for entry in told["entries"][:5]:
        entry["labels"]["model.encodings"] = HOSTILE
    (folder / "study.json").write_text(json.dumps(told))
    one = records.read(next((folder / "records").iterdir()))
    one["provenance"]["device"] = one["error"] = HOSTILE
    one["status"] = "failed"
    records.write(folder, one)
    with pages.opened(chromium, report_file.write(frame.read(folder), folder)) as page:
        assert page.locator("h1").inner_text() == " ".join(name.split())
        assert HOSTILE in page.locator("#numbers tbody").text_content()
        page.locator(MARKS).first.hover(force=True)
        page.locator("#run-table button.show").first.click()
        no_plot = "img:not([src^='data:image/svg+xml;base64,'])"
        assert page.locator(f"main {no_plot}, main script, main b").count() == 0
        assert page.locator("#vg-tooltip-element img").count() == 0
