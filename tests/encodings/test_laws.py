"""Every law on every encoding of the folder."""

import functools
import inspect

import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab import plugins
from tests.encodings import laws

FUSED = ("fused_equals_explicit",)


@functools.cache
def subject(name: str) -> laws.Subject:
    """One compilation a member for most laws."""
    return laws.Subject(laws.spec(name))


@pytest.mark.parametrize("law", laws.LAWS)
@pytest.mark.parametrize("name", laws.names())
def test_law_holds(name, law):
    laws.LAWS[law](subject(name))


@pytest.mark.parametrize("name", laws.names())
def test_every_argument_of_the_constructor_is_sensitive(name):
    cls = plugins.find("encodings", name)
    takes = set(plugins.parameters(cls)) - set(plugins.CONTEXT["encodings"])
    sensitive = laws.sensitive(name)
    assert set(sensitive) == takes
    apart = jnp.asarray([0, 1, 3, 9, 20, 40, 63])[None, None]
    for argument, (one, other) in sensitive.items():
        logits = [laws.Subject(laws.spec(name, **{argument: v})).logits(positions=apart) for v in (one, other)]
        assert not np.allclose(*logits, atol=1e-4, equal_nan=True), f"{name}'s {argument} changes nothing"


@pytest.mark.parametrize("name", laws.names())
def test_docstring_names_its_source(name):
    module = inspect.getmodule(plugins.find("encodings", name))
    assert "https://arxiv.org/abs/" in module.__doc__ or "No paper:" in module.__doc__


@pytest.mark.full
@pytest.mark.parametrize("law", laws.LAWS)
@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [(n, a, v) for n in laws.names() for a, values in laws.sensitive(n).items() for v in values],
)
def test_law_holds_for_every_argument(name, argument, value, law):
    laws.LAWS[law](laws.Subject(laws.spec(name, **{argument: value})))
