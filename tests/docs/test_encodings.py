import dataclasses

import pytest

from docs.build import encodings
from pe_lab.inspection.captions import caption
from pe_lab.inspection.scorecard import Row
from pe_lab.runs import records

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


@pytest.fixture
def measured(tmp_path):
    rows = {name: dataclasses.asdict(row) for name, row in ROWS.items()}
    records.write_json(tmp_path / encodings.SCORECARD, rows)
    return encodings.lookups(tmp_path)["measured"]


def test_every_measured_encoding_has_its_row_its_picture_and_its_caption(measured):
    assert "| [mine](#mine)     | no 2   |" in measured
    assert "### mine\n\n*unique* no 2, *bounded* –, " in measured
    assert f"![mine: picture](pictures/mine.png)\n\n{caption(ROWS['mine'])}\n" in measured
    assert (
        "### silent\n\n![silent: picture](pictures/silent.png)\n\nThe scorecard says nothing of it: it adds nothing."
        in measured
    )


def test_an_encoding_is_measured_with_its_defaults_or_with_what_it_needs():
    assert encodings.probe("rope").name == "rope"
    assert encodings.probe("sliding_window").name == "sliding_window(size=16)"
    assert encodings.measure("chunks")["kind"] == "bias"


def test_a_picture_is_small(tmp_path):
    encodings.draw("alibi", tmp_path)
    assert (tmp_path / "alibi.png").stat().st_size < 40_000
