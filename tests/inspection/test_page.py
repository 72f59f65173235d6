import dataclasses

import pytest

from pe_lab.inspection import page
from pe_lab.inspection.captions import caption
from pe_lab.inspection.scorecard import Row

NUMBERS = {
    "colliding pairs": 2,
    "nearer is more similar": 0.5,
    "decay stops at": 3,
    "largest step / random pair": 1.5,
}
ROWS = {
    "mine": Row("mine(a=1)", "code", NUMBERS),
    "silent": Row("silent", None, {}, "it adds nothing"),
}
MEASURED = {name: dataclasses.asdict(row) for name, row in ROWS.items()}
PAGE = f"before\n{page.BEGIN}what was there{page.END}\nafter\n"


def test_what_is_measured_takes_the_place_between_the_marks():
    found = page.inserted(PAGE, MEASURED, "pictures")
    assert found.startswith(f"before\n{page.BEGIN}\n## What each one is, measured\n")
    assert found.endswith(f"{page.END}\nafter\n")
    assert "what was there" not in found
    assert page.inserted(found, MEASURED, "pictures") == found


def test_every_encoding_has_its_row_its_picture_and_its_caption():
    found = page.inserted(PAGE, MEASURED, "pictures")
    assert "| [mine](#mine)     | no 2   |" in found
    assert "### mine\n\n*unique* no 2, *bounded* –, " in found
    assert f"![mine: picture](pictures/mine.png)\n\n{caption(ROWS['mine'])}\n" in found
    assert (
        "### silent\n\n![silent: picture](pictures/silent.png)\n\nThe scorecard says nothing of it: it adds nothing."
        in found
    )


def test_a_page_without_the_marks_is_refused():
    with pytest.raises(ValueError, match="no place for what is measured"):
        page.inserted("before\nafter\n", MEASURED, "pictures")


def test_an_encoding_is_measured_with_its_defaults_or_with_what_it_needs():
    assert page.probe("rope").name == "rope"
    assert page.probe("sliding_window").name == "sliding_window(size=16)"
    assert page.measure("chunks")["kind"] == "bias"


def test_a_picture_is_small(tmp_path):
    page.draw("alibi", tmp_path)
    assert (tmp_path / "alibi.png").stat().st_size < 40_000
