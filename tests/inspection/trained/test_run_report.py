import json

import pytest
from matplotlib import pyplot

from pe_lab.inspection.trained import captions, findings, pictures, run_report
from pe_lab.inspection.trained.findings import AFTER, BEFORE
from pe_lab.inspection.trained.four_terms import TERMS
from pe_lab.results.plots.drawing import SUFFIXES
from tests.inspection.trained.untrained_run import finished

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def found():
    """Of a model as it starts, so that it fails and says the same before training and after."""
    return findings.find(finished("sinusoidal", "alibi", evaluate__num_examples=4), (2, 3))


def test_there_is_a_row_for_every_state_length_layer_and_head(found):
    states = [(BEFORE, 2), (AFTER, 2), (AFTER, 3)]
    heads = [
        (*state, "decoder", layer, head) for state in states for layer in (1, 2) for head in (1, 2)
    ]
    for rows in (found.terms, found.attention):
        assert [
            (r["when"], r["length"], r["attention"], r["layer"], r["head"]) for r in rows
        ] == heads
    assert [(r["when"], r["length"], r["layer"]) for r in found.probes] == [
        (*state, layer) for state in states for layer in (0, 1, 2)
    ]
    assert [(r["length"], r["encoding"], r["layer"], r["head"]) for r in found.knock_out] == [
        (length, *off)
        for length in (2, 3)
        for off in [(None, None, None), ("alibi", None, None), ("sinusoidal", None, None)]
        + [("alibi", layer, head) for layer in (1, 2) for head in (None, 1, 2)]
    ]
    assert all(sum(row[term] for term in TERMS) == pytest.approx(1) for row in found.terms)


def test_what_was_not_trained_is_the_same_before_and_after(found):
    before, after = (
        [{**row, "when": ""} for row in found.terms if (row["when"], row["length"]) == (when, 2)]
        for when in (BEFORE, AFTER)
    )
    assert before == after
    assert [row["when"] for row in found.input] == [BEFORE, AFTER]
    assert {**found.input[0], "when": ""} == {**found.input[1], "when": ""}


def test_failures_are_shares_of_the_failed_and_each_has_a_first_error(found):
    for row in found.failures:
        assert (row["examples"], row["failed"]) == (4, 4)
        assert sum(row["shares"].values()) == pytest.approx(1)
        assert sum(row["first_error"]) == row["failed"]
        assert len(row["first_error"]) == row["length"] + 1


def test_everything_is_json_and_names_its_run(found):
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert told["about"]["lengths"] == [2, 3]
    assert "seen" not in told


def test_the_page_shows_every_picture_and_says_what_it_is_and_what_is_not_there(found, tmp_path):
    drawn = pictures.draw(found, tmp_path)
    stems = {
        "attention_decoder_2",
        "attention_decoder_3",
        "terms",
        "heads",
        "probes",
        "knock_out",
        "failures",
    }
    assert {f"trained_{stem}{suffix}" for stem in stems for suffix in SUFFIXES} == {
        path.name for path in tmp_path.iterdir()
    }
    page = run_report.page(found, drawn)
    assert all(f"]({stem}.png)" in page for stem in drawn.values())
    said = (
        captions.MAPS,
        captions.HEADS,
        captions.FOUR_TERMS,
        captions.INPUT,
        captions.PROBES,
        captions.KNOCK_OUT,
        captions.NOT_KEPT,
    )
    assert all(caption in page for caption in said)
    assert run_report.knock_outs(found) in page
    assert "sinusoidal + alibi on copy" in page.splitlines()[0]


def test_two_encodings_of_one_name_on_a_layer_have_a_row_and_a_map_each():
    alike = [{"name": "t5_bias", "num_buckets": buckets} for buckets in (8, 32)]
    found = findings.find(finished(*alike, model__num_layers=1, evaluate__num_examples=4), (2, 3))
    few, many = "t5_bias(num_buckets=8)", "t5_bias(num_buckets=32)"
    rows = [line.split("|")[1].strip() for line in run_report.knock_outs(found).splitlines()[2:]]
    assert rows == ["nothing", few, many, *[few] * 3, *[many] * 3]
    figure = pictures._knock_out(found)
    labels = [axis.get_ylabel() for axis in figure.axes if axis.get_ylabel().endswith("layer")]
    pyplot.close(figure)
    assert labels == [f"{few} in decoder\nlayer", f"{many} in decoder\nlayer"]


def test_a_map_has_what_its_own_layer_can_see():
    """The first layer looks one token back at most; what the second sees is not cut with it."""
    window = {"name": "sliding_window", "size": 2, "layers": (0,)}
    found = findings.find(finished(window, evaluate__num_examples=4), (3,))
    figure = pictures._maps(found, 3, "decoder")
    drawn = [
        axis.images[0].get_array().count() for axis in figure.axes[:4]
    ]  # two layers of two heads
    pyplot.close(figure)
    read = 8  # BEGIN, three symbols, SEPARATOR, and the three that are copied
    assert drawn == [2 * read - 1] * 2 + [read * (read + 1) // 2] * 2


def test_without_an_encoding_at_the_input_the_page_says_so():
    found = findings.find(
        finished("rope", model__num_layers=1, evaluate__num_examples=4, task={"name": "parity"}),
        (2,),
    )
    assert (found.input, len(found.reasons)) == ([], 1)
    assert found.reasons[0] in run_report.page(found, {})
    assert {row["aligned"] for row in found.attention} == {None}  # parity comes from no one token


@pytest.mark.parametrize(("longest", "lengths"), [(2, (2, 3, 4)), (4, (4, 6)), (1, (1, 2))])
def test_lengths_are_those_asked_for_or_up_to_twice_the_training_length_as_far_as_there_are_examples(
    longest, lengths
):
    run = finished(
        "rope",
        train__max_length=longest,
        evaluate__lengths=(longest,),
        evaluate__curve_lengths=(1,),
    )
    assert findings.lengths_of(run, None) == lengths  # copy has six symbols, all distinct
    assert findings.lengths_of(run, (5, 2, 5)) == (5, 2)
