"""Every law on every encoding of the folder."""

import ast
import functools
import inspect
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab import plugins
from tests.encodings import laws

FUSED = ("fused_equals_explicit",)


@functools.cache
def subject(name: str, argument: str | None = None, value: object = None) -> laws.Subject:
    """One compilation a member and argument for most laws."""
    return laws.Subject(laws.spec(name, **({} if argument is None else {argument: value})))


@pytest.mark.parametrize("name", laws.names())
def test_it_has_a_test_file_of_its_own(name):
    path = Path(__file__).with_name(f"test_{name}.py")
    assert path.exists(), f"pe_lab/encodings/{name}.py needs tests/encodings/{path.name} with SENSITIVE: two values for every argument"


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
def test_it_imports_nothing_of_pe_lab_but_the_base(name):
    """So that one file can be taken elsewhere."""
    source = Path(inspect.getfile(plugins.find("encodings", name))).read_text()
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import | ast.ImportFrom)]
    modules = {n.module for n in nodes if isinstance(n, ast.ImportFrom)} | {
        a.name for n in nodes if isinstance(n, ast.Import) for a in n.names
    }
    assert {m for m in modules if m.startswith("pe_lab")} <= {"pe_lab.encodings.base"}


@pytest.mark.parametrize("name", laws.names())
def test_docstring_names_its_source(name):
    module = inspect.getmodule(plugins.find("encodings", name))
    found = "https://arxiv.org/abs/" in (module.__doc__ or "") or "No paper:" in (module.__doc__ or "")
    assert found, "the module docstring names its paper with its link, or says 'No paper:' and where the idea is from"


@pytest.mark.full
@pytest.mark.parametrize("law", laws.LAWS)
@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [(n, a, v) for n in laws.names() for a, values in laws.sensitive(n).items() for v in values],
)
def test_law_holds_for_every_argument(name, argument, value, law):
    laws.LAWS[law](subject(name, argument, value))
