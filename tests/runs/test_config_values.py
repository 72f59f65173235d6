"""A run holds what its config says, with defaults, layers, heads and validation lengths."""

import copy
import dataclasses
import json

import pytest

from pe_lab.runs import config
from pe_lab.runs.run import from_record
from pe_lab.runs.settings.labels import label, parse
from pe_lab.runs.settings.plugin import Plugin
from pe_lab.runs.settings.settings import STACKS
from tests.runs.config_runs import PARENT, SHIFTED, encodings, run, values


def test_a_run_comes_back_from_its_values_also_through_json():
    specs = encodings(
        dict(name="rope", layers=[1], base=500000, stacks=["cross"]), dict(name="learned")
    )
    made = run(
        **specs,
        evaluate__overrides=[dict(positions=SHIFTED), dict(encodings=[], label="bare")],
        evaluate__lengths=[4, 8],
        layout__name="encoder_decoder",
        init_from=PARENT,
    )
    assert config.from_dict(made.to_dict()) == made
    assert config.from_dict(json.loads(json.dumps(made.to_dict()))) == made
    assert from_record(json.loads(json.dumps(made.to_dict()))) == made


def test_every_default_is_resolved_into_the_run():
    made = run()
    assert made.task == Plugin("copy", (("distinct", True), ("num_symbols", 64)))
    assert made.to_dict()["model"]["encodings"] == [
        dict(
            name="sinusoidal",
            base=10000.0,
            combine="add",
            layout="interleaved",
            learn_scale=False,
            lift="pad",
            scale=1.0,
            stacks=None,
            axis=None,
            reads_positions=True,
        )
    ]


def test_lists_become_tuples_so_that_a_run_can_be_a_key():
    made = run(evaluate__lengths=[4, 8], **encodings(dict(name="rope", layers=[0])))
    assert (made.evaluate.lengths, made.model.encodings[0].layers) == ((4, 8), (0,))
    assert {made: 1}[
        run(evaluate__lengths=(4, 8), **encodings(dict(name="rope", layers=(0,))))
    ] == 1


def test_an_encoding_in_attention_says_whether_layers_share_it_and_one_at_the_input_does_not():
    specs = [dict(name=name) for name in ("rope", "shaw", "learned")]
    made = run(**encodings(*specs, dict(name="shaw", share=True)))
    assert [e.share for e in made.model.encodings] == [True, False, None, True]
    assert {e.layers for e in made.model.encodings} == {None}


def test_the_data_seed_follows_the_seed_unless_given():
    assert [run(seed=3).data_seed, run(seed=3, data_seed=0).data_seed] == [3, 0]


@pytest.mark.parametrize(
    ("stacks", "acts"),
    [
        (None, ["encoder", "decoder"]),
        (("encoder",), ["encoder"]),
        (("cross",), ["cross"]),
        (("decoder", "cross"), ["decoder", "cross"]),
    ],
)
def test_an_encoding_acts_between_the_streams_only_when_asked_to(stacks, acts):
    made = run(layout__name="encoder_decoder", **encodings(dict(name="t5_bias", stacks=stacks)))
    assert [s for s in STACKS["encoder_decoder"] if made.model.encodings[0].acts_in(s)] == acts


def test_a_run_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        run().seed = 1


def test_reading_a_config_leaves_it_as_it_was():
    given = values(**encodings(dict(name="rope", layers=[0])))
    before = copy.deepcopy(given)
    config.from_dict(given)
    assert given == before


@pytest.mark.parametrize(
    ("ends", "lengths"),
    [
        ((1, 8), (1, 2, 3, 4, 5, 6, 7, 8)),
        ((4, 6), (4, 5, 6)),
        ((5, 5), (5,)),
        ((1, 16), (1, 3, 5, 7, 9, 11, 13, 16)),
        ((1, 50), (1, 8, 15, 22, 29, 36, 43, 50)),
    ],
)
def test_validation_lengths_are_the_trained_ones_or_eight_of_them(ends, lengths):
    """Whatever the test lengths are."""
    changes = dict(train__min_length=ends[0], train__max_length=ends[1])
    for tested in ((60,), (2, 4, 100)):
        made = run(**changes, evaluate__lengths=tested, evaluate__curve_lengths=(5,))
        assert made.evaluate.validation_lengths == lengths
        assert made.to_dict()["evaluate"]["validation_lengths"] == list(lengths)


def test_an_encoding_may_name_its_heads_and_its_own_position_scheme():
    fire = dict(name="fire", positions=dict(name="contiguous"), heads=(0, 1))
    (encoding,) = run(**encodings(fire)).model.encodings
    assert encoding.heads == (0, 1)
    assert encoding.positions == Plugin("contiguous", ())


def test_a_label_shows_heads_and_scheme_and_is_read_back():
    spec = dict(name="fire", positions=dict(name="randomized", maximum=64), heads=(0, 1))
    text = label((spec,))
    assert text == "fire(positions=randomized(maximum=64), heads=(0, 1))"
    assert run(**encodings(*parse(text))) == run(**encodings(spec))
    short = run(**encodings(*parse("fire(positions=contiguous)")))
    assert short.model.encodings[0].positions == Plugin("contiguous", ())
