"""A config with values out of range is refused."""

import pytest

from pe_lab.runs.errors import UserError
from tests.runs.config_runs import encodings, run


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict(model__width=0), r"config\.model\.width must be at least 1, got 0"),
        (dict(model__num_layers=0), r"config\.model\.num_layers must be at least 1, got 0"),
        (
            dict(model__num_layers=100000),
            r"config\.model\.num_layers must be at most 1000, got 100000",
        ),
        (
            dict(model__width=10**9),
            r"config\.model\.width must be at most 1000000, got 1000000000",
        ),
        (dict(model__num_heads=-1), r"config\.model\.num_heads must be at least 1, got -1"),
        (dict(model__feedforward_width=-1), r"config\.model\.feedforward_width must be at least 0"),
        (dict(train__steps=0), r"config\.train\.steps must be at least 1"),
        (dict(train__batch_size=0), r"config\.train\.batch_size must be at least 1"),
        (dict(train__min_length=0), r"config\.train\.min_length must be at least 1"),
        (dict(evaluate__num_examples=0), r"config\.evaluate\.num_examples must be at least 1"),
        (dict(evaluate__batch_size=0), r"config\.evaluate\.batch_size must be at least 1"),
        (dict(evaluate__curve_every=0), r"config\.evaluate\.curve_every must be at least 1"),
        (dict(evaluate__curve_examples=0), r"config\.evaluate\.curve_examples must be at least 1"),
        (dict(execution__chunk_steps=0), r"config\.execution\.chunk_steps must be at least 1"),
        (dict(execution__max_members=0), r"config\.execution\.max_members must be at least 1"),
        (dict(model__num_heads=3), r"config\.model\.num_heads must divide the width 64, got 3"),
        (dict(model__dropout=1), r"config\.model\.dropout must be in \[0, 1\), got 1\.0"),
        (dict(model__dropout=-0.1), r"config\.model\.dropout must be in \[0, 1\), got -0\.1"),
        (
            dict(train__max_length=2, train__min_length=3),
            r"config\.train\.max_length must be at least min_length 3, got 2",
        ),
        (dict(evaluate__lengths=()), r"config\.evaluate\.lengths must hold a length\."),
        (
            dict(evaluate__validation_lengths=(8, 17)),
            (
                r"validation_lengths must hold a length, and none beyond the training length 16, "
                r"got \(8, 17\)"
            ),
        ),
        (dict(evaluate__validation_lengths=()), r"validation_lengths must hold a length"),
        (dict(evaluate__validation_lengths=(0,)), r"config\.evaluate's lengths must be at least 1"),
        (
            dict(train__exclude_held_out=2),
            r"config\.train\.exclude_held_out must be True or False, got 2",
        ),
        (dict(evaluate__lengths=(0, 8)), r"config\.evaluate's lengths must be at least 1"),
        (dict(evaluate__curve_lengths=(0,)), r"config\.evaluate's lengths must be at least 1"),
        (
            dict(evaluate__offsets=()),
            r"config\.evaluate\.offsets must hold an offset, and none below 0, got \(\)",
        ),
        (
            dict(evaluate__offsets=(0, -1)),
            r"config\.evaluate\.offsets must hold an offset, and none below 0, got \(0, -1\)",
        ),
        (
            encodings(dict(name="rope", layers=(0, 2))),
            r"rope's layers must be some of 0\.\.1, each once, got \(0, 2\)",
        ),
        (
            dict(layout__examples_per_context=0),
            r"config\.layout\.examples_per_context must be at least 1, got 0",
        ),
        (dict(model__num_loops=0), r"config\.model\.num_loops must be at least 1, got 0"),
        (dict(train__min_loops=0), r"config\.train\.min_loops must be at least 1, got 0"),
        (
            dict(model__num_loops=3, train__min_loops=4),
            r"config\.train\.min_loops must be at most config\.model\.num_loops 3, got 4\.",
        ),
        (
            dict(model__loop_injection="sum"),
            r"config\.model\.loop_injection has no 'sum'\. It has: add, linear, none\.",
        ),
        (
            dict(model__shared_projections="kv"),
            r"config\.model\.shared_projections has no 'kv'\. .*It has: none, qk, qkv\.",
        ),
        (dict(model__sliding_window=0), r"config\.model\.sliding_window must be at least 1, got 0"),
        (dict(train__extra_steps=-1), r"config\.train\.extra_steps must be at least 0, got -1"),
        (
            dict(train__criterion=0.0),
            r"config\.train\.criterion is .*, more than 0 and at most 1, or 'solved', got 0\.0",
        ),
        (
            dict(train__criterion=1.1),
            r"config\.train\.criterion is .*, more than 0 and at most 1, or 'solved', got 1\.1",
        ),
        (
            dict(train__criterion=0.9, evaluate__curve_lengths=(17, 32)),
            (
                r"config\.train\.criterion is watched on the curve: "
                r"config\.evaluate\.curve_lengths "
                r"needs a length up to 16, got \(17, 32\)\. To train for all steps, set "
                r"config\.train\.criterion to None\.$"
            ),
        ),
        (
            dict(train__max_length=8),  # the default criterion, and the default curve
            r"config\.evaluate\.curve_lengths needs a length up to 8, got \(16, 32\)\.",
        ),
        (
            dict(train__criterion=0.9, evaluate__curve_lengths=()),
            r"config\.train\.criterion is watched on the curve",
        ),
        (
            encodings(dict(name="rope", layers=(-1,))),
            r"rope's layers must be some of 0\.\.1, each once, got \(-1,\)",
        ),
    ],
)
def test_a_value_out_of_range_is_refused(changes, words):
    with pytest.raises(UserError, match=words):
        run(**changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict(evaluate__lengths=8), r"config\.evaluate\.lengths must be a tuple"),
        (encodings(dict(name="rope", layers=1)), r"rope's layers must be a tuple"),
        (
            encodings(dict(name="rope", layers=())),
            r"rope's layers must be some of 0\.\.1, each once, got \(\)",
        ),
        (encodings(dict(name="rope", layers=(1, 1))), r"each once, got \(1, 1\)"),
        (dict(train__num_examples=0), r"config\.train\.num_examples must be at least 1"),
        (dict(train__learning_rate=float("nan")), r"config\.train\.learning_rate must be"),
        (dict(train__weight_decay=float("inf")), r"config\.train\.weight_decay must be"),
        (dict(seed=2**31), r"config\.seed must be"),
    ],
)
def test_what_no_training_could_use_is_refused(changes, words):
    with pytest.raises(UserError, match=words):
        run(**changes)
