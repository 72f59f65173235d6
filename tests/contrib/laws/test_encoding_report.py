"""The report of laws that do not hold: what they demand, where, and the likely cause."""

import inspect

import pytest

from pe_lab.contrib.laws import encoding_laws as laws
from pe_lab.contrib.laws.encoding_report import CAUSES, QUICK, check
from pe_lab.contrib.laws.report_lines import demand
from pe_lab.runs.errors import UserError

FUTURE, PADDING, DECODING, PACKED, SHIFT = (cause.law for cause in CAUSES)


def broken(name):
    return {"name": f"tests.encodings.broken:{name}"}


def report(name, law, **options):
    """The lines about a law of a broken encoding, as one text."""
    lines = list(check(broken(name), only=law, **options))
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize(
    ("name", "law", "place", "cause"),
    [
        ("LeaksTheFuture", FUTURE, "token 1 of example 0", "looks at the future"),
        ("LeaksTheFuture", DECODING, "token 2 of example 1", "looks at the future"),
        ("LeaksPadding", PADDING, "token 1 of example 0", "reads padding"),
        ("LeaksPadding", PACKED, "token 1 of example 0", "reads padding"),
        ("CountsQueries", DECODING, "token 2 of example 1", "counts queries from 0"),
        ("StartsQueriesAtZero", PACKED, "token 5 of example 0", "counts queries from 0"),
        ("StartsQueriesAtZero", SHIFT, "token 2 of example 0", "counts queries from 0"),
        ("IgnoresSegments", PACKED, "token 5 of example 0", "ignores segments"),
        ("ReadsPlaces", SHIFT, "token 1 of example 0", "is absolute"),
        ("ScalesAngles", SHIFT, "token 3 of example 0", "is absolute"),
    ],
)
def test_a_failure_names_the_demand_the_first_token_and_the_likely_cause(name, law, place, cause):
    text = report(name, law)
    sentence = demand(laws.LAWS[law])
    assert text.startswith(f"FAILS {law} (decoder) {sentence} The largest difference is ")
    assert place in text
    assert text.count("Likely cause: ") == 1
    assert f"Likely cause: the encoding {cause}" in text
    assert "[[" not in text
    of_cause = next(each for each in CAUSES if each.sentence.startswith(cause))
    is_consequence = f"It can be a consequence: {of_cause.law} does not hold either." in text
    assert is_consequence == (law != of_cause.law)


def test_laws_that_no_common_cause_breaks_name_none():
    text = report("ClampingGather", "beyond_its_positions_there_is_nothing")
    assert "a position outside the range got an embedding." in text
    assert "Likely cause" not in text


def test_an_encoding_that_a_shift_does_not_change_and_that_is_not_relative_names_no_cause():
    text = report("ReadsIndices", SHIFT)
    assert "The logits should differ by more than 0.001; the largest difference is 0." in text
    assert "The strings have 7 tokens: give arguments that have an effect within them" in text
    assert "Likely cause" not in text


def test_a_gradient_that_is_not_finite_names_masked_tokens_and_the_usual_cause():
    text = report("LogarithmOfTheFuture", "gradients_are_finite_and_reach_every_parameter")
    assert "the gradient of " in text
    assert "slope" in text
    assert "Likely cause: keys that the mask hides, such as later tokens." in text
    assert "jnp.log(jnp.where(distance > 0, distance, 1))." in text


def test_an_exception_is_one_line_and_no_law_hides_it():
    text = report("RaisesInItsBias", "shape_is_kept_and_finite")
    assert "It raises AttributeError: 'Tokens' object has no attribute 'position'" in text
    assert "Traceback" not in text


def test_arrays_and_the_traceback_come_on_request():
    text = report("ReadsPlaces", SHIFT, verbose=True)
    assert "[[" in text
    assert "Traceback" in text


def test_it_stops_at_the_first_failure_unless_it_keeps_going():
    lines = list(check(broken("CountsQueries"), quick=True))
    assert [line.split()[:2] for line in lines if line.startswith(("ok", "FAILS"))] == [
        ["ok", "shape_is_kept_and_finite"],
        ["FAILS", "positions_are_read_not_indices"],
    ]
    assert lines[-1].startswith("1 law failed; the laws after it were not checked")
    lines = list(check(broken("CountsQueries"), quick=True, keep_going=True))
    names = [line.split()[1] for line in lines if line.startswith(("ok", "FAILS"))]
    assert sorted(names) == sorted(QUICK)
    assert lines[-1] == "2 laws failed, 6 laws passed"


def test_a_sound_encoding_passes_in_every_architecture():
    lines = list(check({"name": "nope"}, only="shape_is_kept_and_finite"))
    assert lines == [
        "ok     shape_is_kept_and_finite  (decoder)",
        "ok     shape_is_kept_and_finite  (encoder)",
        "ok     shape_is_kept_and_finite  (encoder_decoder)",
        "3 laws passed",
    ]


def test_a_law_of_no_architecture_of_an_encoding_is_not_said_to_pass():
    law = "between_two_streams_both_positions_are_read"
    with pytest.raises(UserError, match=f"^{law} is no law of decoder, for which it is made"):
        list(check({"name": "path"}, only=law))


@pytest.mark.parametrize("law", laws.LAWS)
def test_every_law_says_in_a_sentence_what_it_demands(law):
    assert inspect.getdoc(laws.LAWS[law])
    assert demand(laws.LAWS[law]).endswith(".")
    assert len(demand(laws.LAWS[law])) > 30
