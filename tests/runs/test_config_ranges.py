"""A config with values out of range is refused."""

import re

import pytest

from pe_lab.runs.errors import UserError
from tests.runs.config_runs import encodings, run


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("model.width", 0, "at least 1, got 0"),
        ("model.width", 10**9, "at most 1000000, got 1000000000"),
        ("model.num_layers", 0, "at least 1, got 0"),
        ("model.num_layers", 100_000, "at most 1000, got 100000"),
        ("model.num_heads", -1, "at least 1, got -1"),
        ("model.feedforward_width", -1, "at least 0, got -1"),
        ("model.dropout", 1, "in [0, 1), got 1.0"),
        ("model.dropout", -0.1, "in [0, 1), got -0.1"),
        ("model.num_loops", 0, "at least 1, got 0"),
        ("model.sliding_window", 0, "at least 1, got 0"),
        ("layout.examples_per_context", 0, "at least 1, got 0"),
        ("train.steps", 0, "at least 1, got 0"),
        ("train.batch_size", 0, "at least 1, got 0"),
        ("train.min_length", 0, "at least 1, got 0"),
        ("train.min_loops", 0, "at least 1, got 0"),
        ("train.extra_steps", -1, "at least 0, got -1"),
        ("train.num_examples", 0, "at least 1, got 0"),
        ("train.learning_rate", float("nan"), "a finite number, got nan"),
        ("train.weight_decay", float("inf"), "a finite number, got inf"),
        ("train.exclude_held_out", 2, "True or False, got 2"),
        ("evaluate.lengths", 8, "a tuple of whole numbers, got 8"),
        ("evaluate.num_examples", 0, "at least 1, got 0"),
        ("evaluate.batch_size", 0, "at least 1, got 0"),
        ("evaluate.curve_every", 0, "at least 1, got 0"),
        ("evaluate.curve_examples", 0, "at least 1, got 0"),
        ("execution.chunk_steps", 0, "at least 1, got 0"),
        ("execution.max_members", 0, "at least 1, got 0"),
        ("seed", 2**31, "a whole number of 32 bits, got 2147483648"),
    ],
)
def test_a_value_out_of_range_is_refused(path, value, words):
    with pytest.raises(UserError) as refused:
        run(**{path.replace(".", "__"): value})
    assert str(refused.value) == f"config.{path} must be {words}."


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict(model__num_heads=3), "config.model.num_heads must divide the width 64, got 3"),
        (
            dict(train__max_length=2, train__min_length=3),
            "config.train.max_length must be at least min_length 3, got 2",
        ),
        *(
            (
                {f"{group}__batch_size": 6, "execution__batch_devices": 4},
                f"batch_devices must divide config.{group}.batch_size 6, got 4",
            )
            for group in ("train", "evaluate")
        ),
        (dict(evaluate__lengths=()), "config.evaluate.lengths must hold a length."),
        (
            dict(evaluate__validation_lengths=(8, 17)),
            "validation_lengths must hold a length, and none beyond the training length 16, "
            "got (8, 17)",
        ),
        (dict(evaluate__validation_lengths=()), "validation_lengths must hold a length"),
        *(
            ({f"evaluate__{name}": (0, 8)}, "config.evaluate's lengths must be at least 1")
            for name in ("validation_lengths", "lengths", "curve_lengths")
        ),
        *(
            (
                dict(evaluate__offsets=offsets),
                f"config.evaluate.offsets must hold an offset, and none below 0, got {offsets}",
            )
            for offsets in ((), (0, -1))
        ),
        (
            dict(model__num_loops=3, train__min_loops=4),
            "config.train.min_loops must be at most config.model.num_loops 3, got 4.",
        ),
        (
            dict(model__loop_injection="sum"),
            "config.model.loop_injection has no 'sum'. It has: add, linear, none.",
        ),
        (dict(model__shared_projections="kv"), "config.model.shared_projections has no 'kv'. "),
        *(
            (
                dict(train__criterion=criterion),
                "config.train.criterion is an exact match, more than 0 and at most 1, or 'solved', "
                f"got {criterion}",
            )
            for criterion in (0.0, 1.1)
        ),
        (
            dict(train__criterion=0.9, evaluate__curve_lengths=(17, 32)),
            "config.train.criterion is watched on the curve: config.evaluate.curve_lengths needs a "
            "length up to 16, got (17, 32). To train for all steps, set config.train.criterion to "
            "None.",
        ),
        (
            dict(train__max_length=8),  # the default criterion, and the default curve
            "config.evaluate.curve_lengths needs a length up to 8, got (16, 32).",
        ),
        (
            dict(train__criterion=0.9, evaluate__curve_lengths=()),
            "config.train.criterion is watched on the curve",
        ),
        *(
            (
                encodings(dict(name="rope", layers=layers)),
                f"rope's layers must be some of 0..1, each once, got {layers}",
            )
            for layers in ((0, 2), (-1,), (), (1, 1))
        ),
        (encodings(dict(name="rope", layers=1)), "rope's layers must be a tuple"),
    ],
)
def test_values_that_do_not_fit_each_other_are_refused(changes, words):
    with pytest.raises(UserError, match=re.escape(words)):
        run(**changes)
