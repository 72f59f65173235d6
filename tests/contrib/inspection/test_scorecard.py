import csv
import functools
import io

import pytest

from pe_lab.contrib.inspection import scorecard
from pe_lab.contrib.inspection.scorecard import PROPERTIES, Row
from pe_lab.contrib.inspection.untrained import UntrainedEncoding

NORMALIZED = "raw_index of normalized"
PROVED = {  # property -> one that passes, one that fails
    "unique": ("sinusoidal", "single_sine"),
    "bounded": ("sinusoidal", "raw_index"),
    "consistent": ("raw_index", NORMALIZED),
    "continuous": ("sinusoidal", "binary"),
    "linear shift": ("sinusoidal", "multi_sine"),
    "decays": ("alibi", "single_sine"),
    "extends": ("single_sine", "sinusoidal"),
}


@functools.cache
def row(name):
    positions = {"name": "normalized" if name == NORMALIZED else "contiguous"}
    return scorecard.row(UntrainedEncoding({"name": name.partition(" ")[0]}, 32, 16, 4, positions))


@pytest.mark.slow
@pytest.mark.parametrize("of", PROPERTIES, ids=lambda p: p.name)
def test_every_property_has_an_encoding_that_passes_and_one_that_fails(of):
    passes, fails = (row(name) for name in PROVED[of.name])
    assert (of.verdict(passes.numbers), of.verdict(fails.numbers)) == (True, False)
    assert scorecard.cell(passes, of).startswith("yes ")
    assert scorecard.cell(fails, of).startswith("no ")


@pytest.mark.parametrize(
    ("name", "at", "beyond"),
    [
        ("unique", 0, 1),
        ("bounded", 0.2, 0.21),
        ("consistent", 0.01, 0.011),
        ("continuous", 0.99, 1.0),
        ("linear shift", 0.01, 0.011),
        ("decays", 2 / 3, 0.66),
        ("extends", 0.2, 0.21),
    ],
)
def test_the_threshold_is_where_the_legend_says(name, at, beyond):
    (of,) = [p for p in PROPERTIES if p.name == name]
    assert (of.verdict({of.numbers[0]: at}), of.verdict({of.numbers[0]: beyond})) == (True, False)
    assert of.verdict({of.numbers[0]: None}) is of.verdict({}) is None


def test_inside_attention_a_common_shift_is_the_linear_shift():
    (of,) = [p for p in PROPERTIES if p.name == "linear shift"]
    assert of.number({"change by a common shift": 0.5}) == 0.5
    assert of.number({"shift residual": 0.25}) == 0.25


@pytest.mark.slow
def test_what_has_no_table_has_dashes_and_the_reason():
    nope, cope = row("nope"), row("cope")
    assert [scorecard.cell(nope, p) for p in PROPERTIES] == ["–"] * 7
    assert scorecard.reasons([nope, cope, row("alibi")]).split("\n") == [
        "- – nope: it adds nothing.",
        (
            "- – cope: it reads no positions, so the effect of a distance depends on the tokens "
            "between."
        ),
    ]


@pytest.mark.slow
def test_the_table_lines_up_and_its_numbers_are_short():
    found = scorecard.table([row("single_sine"), row("alibi")]).split("\n")
    assert len({len(line) for line in found}) == 1
    assert (
        found[2].split("|")[2].strip() == "no 96"
    )  # of 32 positions 8 have the sine 0, and 8, 8, 4 and 4 one of the others'
    assert [scorecard.readable(n) for n in (1234, 1.0, -1e-9, 0.625, 2.0)] == [
        "1,234",
        "1.00",
        "0.00",
        "0.62",
        "2.00",
    ]


@pytest.mark.slow
def test_the_csv_has_a_row_an_encoding_with_verdicts_and_all_numbers():
    rows = [row("sinusoidal"), row("alibi"), row("nope")]
    sinusoidal, alibi, nope = csv.DictReader(io.StringIO(scorecard.as_csv(rows)))
    assert (sinusoidal["unique"], alibi["bounded"], nope["unique"]) == ("yes", "no", "")
    assert float(alibi["unseen"]) == rows[1].numbers["unseen"]
    assert (sinusoidal["kind"], nope["reason"]) == ("embedding", "it adds nothing")
    assert "| alias margin" in scorecard.all_numbers(rows)


def test_the_legend_names_every_property_with_its_reason():
    assert all(f"- *{p.name}*: {p.means}. Yes: {p.why}." in scorecard.legend() for p in PROPERTIES)


def test_a_row_of_ones_own_kind_needs_no_more_than_numbers():
    assert scorecard.cell(Row("mine", "embedding", {"colliding pairs": 3}), PROPERTIES[0]) == "no 3"
