import dataclasses
import json

import pytest
from matplotlib import pyplot

from pe_lab.contrib.inspection.panels import SUFFIXES
from pe_lab.contrib.inspection.trained import run_inspection, run_report
from pe_lab.contrib.inspection.trained.findings import AFTER, BEFORE
from pe_lab.contrib.inspection.trained.four_terms import TERMS
from pe_lab.contrib.inspection.trained.sections import (
    attention_maps,
    heads,
    knock_out_section,
    training_course,
)
from tests.contrib.inspection.trained.untrained_run import finished

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def findings():
    """Of an initial model, which fails and is the same before training and after."""
    trained = finished("sinusoidal", "alibi", evaluate__num_examples=4)
    return run_inspection.inspect_run(trained, (2, 3))


def test_there_is_a_row_for_every_state_length_layer_and_head(findings):
    states = [(BEFORE, 2), (AFTER, 2), (AFTER, 3)]
    heads = [
        (*state, "decoder", layer, head) for state in states for layer in (1, 2) for head in (1, 2)
    ]
    for rows in (findings.terms, findings.attention):
        assert [(r.state.when, r.state.length, r.attention, r.layer, r.head) for r in rows] == heads
    assert [(r.state.when, r.state.length, r.layer) for r in findings.probes] == [
        (*state, layer) for state in states for layer in (0, 1, 2)
    ]
    assert [(r.length, r.encoding, r.layer, r.head) for r in findings.knock_outs] == [
        (length, *off)
        for length in (2, 3)
        for off in [(None, None, None), ("alibi", None, None), ("sinusoidal", None, None)]
        + [("alibi", layer, head) for layer in (1, 2) for head in (None, 1, 2)]
    ]
    for row in findings.terms:
        assert sum(row.share(term) for term in TERMS) == pytest.approx(1)


def test_an_untrained_model_is_the_same_before_and_after(findings):
    before, after = (
        [
            (row.layer, row.head, row.cc, row.cp, row.pc, row.pp, row.together, row.nearness)
            for row in findings.terms
            if (row.state.when, row.state.length) == (when, 2)
        ]
        for when in (BEFORE, AFTER)
    )
    assert before == after
    assert [row.state.when for row in findings.input] == [BEFORE, AFTER]
    assert findings.input[0].parts == findings.input[1].parts


def test_failures_are_shares_of_the_failed_and_each_has_a_first_error(findings):
    for row in findings.failures:
        assert (row.examples, row.failed) == (4, 4)
        assert sum(row.shares.values()) == pytest.approx(1)
        assert sum(row.first_error) == row.failed
        assert len(row.first_error) == row.length + 1


def test_everything_is_json_and_names_its_run(findings):
    values = json.loads(json.dumps(findings.to_json(), allow_nan=False))
    assert values["run"]["lengths"] == [2, 3]
    assert values["terms"][0]["state"] == {"when": BEFORE, "step": 0, "length": 2}
    assert "first_examples" not in values


def test_the_page_shows_every_picture_and_explains_every_section(findings, tmp_path):
    run_report.draw(findings, tmp_path)
    stems = {
        "trained_attention_decoder_2",
        "trained_attention_decoder_3",
        "trained_terms",
        "trained_heads",
        "trained_probes",
        "trained_knock_out",
        "trained_failures",
    }
    assert {f"{stem}{suffix}" for stem in stems for suffix in SUFFIXES} == {
        path.name for path in tmp_path.iterdir()
    }
    page = run_report.page(findings)
    assert all(f"]({stem}.png)" in page for stem in stems)
    sections = run_report.sections(findings)
    assert len(sections) == 7
    for section in sections:
        for text in (section.measured, section.reading, section.this_run, section.limits):
            assert text in page
        assert section.table in page
    assert knock_out_section.summary(findings) in page
    assert training_course.NOT_KEPT in page
    assert "sinusoidal + alibi on copy" in page.splitlines()[0]


def test_the_sentences_of_this_run_have_the_numbers_of_the_findings(findings):
    texts = {section.title: section.this_run for section in run_report.sections(findings)}
    assert texts["Wrong answers"].startswith("At length 2, 4 of 4 answers are wrong")
    best = max(
        row.aligned
        for row in findings.attention
        if (row.state.when, row.state.length) == (AFTER, 2)
    )
    assert f"the most weight on the named token: {best:.2f}," in texts["Heads by length"]
    everywhere = [
        row.exact_match
        for row in findings.knock_outs
        if (row.encoding, row.layer, row.length) == ("alibi", None, 2)
    ]
    off = f"{everywhere[0]:.2f} with alibi off everywhere"
    assert off in texts["Knock-outs of the encoding"]


def test_two_encodings_of_one_name_on_a_layer_have_a_row_and_a_map_each():
    encodings = [{"name": "t5_bias", "num_buckets": buckets} for buckets in (8, 32)]
    trained = finished(*encodings, model__num_layers=1, evaluate__num_examples=4)
    findings = run_inspection.inspect_run(trained, (2, 3))
    few, many = "t5_bias(num_buckets=8)", "t5_bias(num_buckets=32)"
    lines = knock_out_section.summary(findings).splitlines()[2:]
    assert [line.split("|")[1].strip() for line in lines] == [
        "nothing",
        few,
        many,
        *[few] * 3,
        *[many] * 3,
    ]
    figure = knock_out_section.figure(findings)
    labels = [axis.get_ylabel() for axis in figure.axes if axis.get_ylabel().endswith("layer")]
    pyplot.close(figure)
    assert labels == [f"{few} in decoder\nlayer", f"{many} in decoder\nlayer"]


def test_the_weight_on_learned_sinks_is_shown_where_a_model_has_them(findings):
    """A sink and three tokens of the same logit, 0."""
    trained = finished(
        {"name": "sliding_window", "size": 3},
        model__num_layers=1,
        model__learned_sinks=True,
        evaluate__num_examples=4,
    )
    for matrix in ("query", "key"):
        attention = trained.params["decoder"]["blocks"][0]["attention"]
        attention[matrix]["kernel"] *= 0
    with_sinks = run_inspection.inspect_run(trained, (2, 3))
    section = heads.section(with_sinks)
    assert "*Weight on the learned sink*" in section.reading
    header, _, *body = section.table.splitlines()
    assert header.endswith("| distance | weight on the learned sink |")
    shares = [line.split("|")[-2].strip() for line in body if AFTER in line]
    assert shares == ["0.25"] * 4  # of two lengths and two heads
    figure = heads.figure(with_sinks)
    labels = [axis.get_ylabel() for axis in figure.axes]
    pyplot.close(figure)
    assert labels[-1] == "weight on the\nlearned sink"
    assert "sink" not in heads.section(findings).markdown()


def test_a_map_has_what_its_own_layer_can_see():
    """The first layer looks one token back at most; the second layer's map is not cut with it."""
    window = {"name": "sliding_window", "size": 2, "layers": (0,)}
    findings = run_inspection.inspect_run(finished(window, evaluate__num_examples=4), (3,))
    figure = attention_maps.figure(findings, 3, "decoder")
    visible = [axis.images[0].get_array().count() for axis in figure.axes[:4]]
    pyplot.close(figure)
    tokens = 8  # BEGIN, three symbols, SEPARATOR, and the three that are copied
    two_layers_of_two_heads = [2 * tokens - 1] * 2 + [tokens * (tokens + 1) // 2] * 2
    assert visible == two_layers_of_two_heads


def test_without_an_encoding_at_the_input_the_page_says_so():
    trained = finished(
        "rope", model__num_layers=1, evaluate__num_examples=4, task={"name": "parity"}
    )
    findings = run_inspection.inspect_run(trained, (2,))
    assert (findings.input, len(findings.missing)) == ([], 1)
    assert findings.missing[0] in run_report.page(findings)
    assert {row.aligned for row in findings.attention} == {None}  # parity comes from no one token
    assert "This task names no token of the prompt." in run_report.page(findings)


def test_a_run_that_goes_on_from_another_ends_at_the_last_step_of_its_curve():
    """Such a run counts the steps that it keeps, and its cost does not."""
    trained = finished(
        "rope", model__num_layers=1, evaluate__num_examples=1, task={"name": "parity"}
    )
    record = {**trained.record, "cost": {"steps": 5}}
    findings = run_inspection.inspect_run(
        dataclasses.replace(trained, record=record, step=12), (2,)
    )
    assert {row.state.step for row in findings.probes} == {0, 12}


@pytest.mark.parametrize(("longest", "lengths"), [(2, (2, 3, 4)), (4, (4, 6)), (1, (1, 2))])
def test_default_lengths_are_up_to_twice_the_training_length_as_far_as_there_are_examples(
    longest, lengths
):
    run = finished(
        "rope",
        train__max_length=longest,
        evaluate__lengths=(longest,),
        evaluate__curve_lengths=(1,),
    )
    assert run_inspection.lengths_of(run, None) == lengths  # copy has six symbols, all distinct
    assert run_inspection.lengths_of(run, (5, 2, 5)) == (5, 2)
