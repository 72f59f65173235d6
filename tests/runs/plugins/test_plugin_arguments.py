"""Arguments of plugins are filled in, converted or refused."""

import re

import pytest
from flax import nnx

from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.runs.settings import typed_values
from pe_lab.runs.settings.plugin import Plugin


def test_all_defaults_are_filled_in():
    resolved = plugins.resolve("encodings", dict(name="t5_bias", num_buckets=8))
    assert resolved == Plugin("t5_bias", (("max_distance", 128), ("num_buckets", 8)))
    assert resolved.to_dict() == {"name": "t5_bias", "max_distance": 128, "num_buckets": 8}


def test_resolving_what_is_resolved_changes_nothing():
    once = plugins.resolve("encodings", dict(name="sinusoidal", scale=2.0))
    assert plugins.resolve("encodings", once.to_dict()) == once


def test_rest_parameters_are_inherited_and_a_class_overrides_their_defaults():
    inherited = {"combine": "add", "scale": 1.0, "learn_scale": False}
    assert plugins.resolve("encodings", dict(name="single_sine")).to_dict() == {
        "name": "single_sine",
        "period": 8.0,
        "lift": "project",
        **inherited,
    }
    assert plugins.resolve("encodings", dict(name="multi_sine")).to_dict() == {
        "name": "multi_sine",
        "base": 10000.0,
        "lift": "pad",
        **inherited,
    }


def test_an_inherited_argument_reaches_the_object():
    given = dict(name="sinusoidal", combine="multiply", scale=3.0)
    built = plugins.build(
        "encodings", plugins.resolve("encodings", given), width=4, num_heads=2, rngs=nnx.Rngs(0)
    )
    assert (built.combine, built.scale, built.width) == ("multiply", 3.0, 4)


def test_a_constructor_receives_only_the_context_that_it_asks_for():
    randomized = plugins.build(
        "positions", plugins.resolve("positions", dict(name="randomized", maximum=9)), num_layers=3
    )
    contiguous = plugins.build(
        "positions", plugins.resolve("positions", dict(name="contiguous")), num_layers=3
    )
    assert (randomized.maximum, randomized.num_layers) == (9, 3)
    assert not hasattr(contiguous, "num_layers")


@pytest.mark.parametrize(
    ("family", "spec", "sentence"),
    [
        ("encodings", dict(name="rope", bas=3), "rope has no 'bas'. Did you mean 'base'?"),
        (
            "encodings",
            dict(name="sinusoidal", combin="add"),
            "sinusoidal has no 'combin'. Did you mean 'combine'?",
        ),
        # The model supplies it.
        ("encodings", dict(name="rope", head_dim=8), "rope has no 'head_dim'"),
        ("encodings", dict(name="nope", base=1), "nope has no 'base'. It has: nothing."),
        (
            "positions",
            dict(name="shifted"),
            "shifted needs max_shift: dict(name='shifted', max_shift=...).",
        ),
        *(
            (
                "positions",
                dict(name="shifted", max_shift=value),
                f"shifted's max_shift must be a whole number, got {value!r}",
            )
            for value in ("9", True, 2.0)
        ),
        *(
            (
                "encodings",
                dict(name="rope", base=value),
                f"rope's base must be a number, got {value!r}",
            )
            for value in (True, "1e4")
        ),
        ("tasks", dict(name="copy", distinct=1), "copy's distinct must be True or False, got 1"),
        (
            "encodings",
            dict(name="rope", layout="halff"),
            "rope's layout has no 'halff'. Did you mean 'half'?",
        ),
        *(
            ("encodings", spec, f"One of the encodings is given as dict(name=..., ...), got {spec}")
            for spec in (dict(nam="rope"), dict(name=3))
        ),
    ],
)
def test_an_argument_that_nothing_takes_is_refused(family, spec, sentence):
    with pytest.raises(UserError, match=f"^{re.escape(sentence)}"):
        plugins.resolve(family, spec)


def test_an_argument_may_be_one_of_the_family_itself():
    """A wrapper of another encoding: resolved with its defaults, built with the same context."""
    inner = {"name": "alibi", "form": "causal"}
    plain = plugins.resolve("encodings", {"name": "dape", "inner": inner})
    assert dict(plain.arguments)["inner"] == plugins.resolve("encodings", inner)
    assert [part.name for part in plain.parts()] == ["dape", "alibi"]
    assert plugins.resolve("encodings", plain.to_dict()) == plain
    built = plugins.build(
        "encodings", plain, width=16, num_heads=2, head_dim=8, bidirectional=False, rngs=nnx.Rngs(0)
    )
    assert built.inner.form == "causal"
    assert plugins.resolve("encodings", {"name": "dape", "inner": "kerple"}).to_dict()["inner"] == {
        "name": "kerple",
        "form": "logarithmic",
    }


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        ("alibbi", "pe_lab/encodings has no 'alibbi'. Did you mean 'alibi'"),
        ({"name": "alibi", "from": "causal"}, "alibi has no 'from'. Did you mean 'form'"),
        ("learned", "dape's inner must be one of the attention encodings, got learned."),
        (3, "One of the encodings is given as dict(name=..., ...), got 3."),
    ],
)
def test_an_argument_of_the_family_that_does_not_fit_is_refused(inner, words):
    with pytest.raises(UserError, match=re.escape(words)):
        plugins.resolve("encodings", {"name": "dape", "inner": inner})


def test_a_whole_number_is_accepted_as_a_number_and_stored_as_one():
    stored = dict(plugins.resolve("encodings", dict(name="rope", base=500000)).arguments)["base"]
    assert (stored, type(stored)) == (500000.0, float)


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [
        ([1, 2], tuple[int, ...], (1, 2)),
        ([1, 2], tuple[float, ...], (1.0, 2.0)),
        (None, int | None, None),
        (3, float | None, 3.0),
    ],
)
def test_lists_become_tuples_and_unions_take_the_first_type_that_fits(value, annotation, expected):
    assert typed_values.checked(value, annotation, "x") == expected


@pytest.mark.parametrize(
    ("value", "annotation", "words"),
    [
        ([1, "a"], tuple[int, ...], r"x\[1\] must be a whole number, got 'a'"),
        ("a", int | None, "x must be a whole number or None, got 'a'"),
        (3, str, "x must be a text, got 3"),
        (5, tuple[int, ...], "x must be a tuple of whole numbers, got 5"),
    ],
)
def test_a_value_of_another_type_is_refused(value, annotation, words):
    with pytest.raises(UserError, match=words):
        typed_values.checked(value, annotation, "x")


def test_a_constructors_refusal_is_the_users_mistake():
    with pytest.raises(UserError, match="the head width must be even, got 3"):
        plugins.build("encodings", plugins.resolve("encodings", dict(name="rope")), head_dim=3)
