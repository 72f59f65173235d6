"""Every law on every encoding with each of its arguments.

It is a file of its own, so that another process can run it beside test_laws.py.
"""

import contextlib
import itertools
from typing import Any

import pytest

from pe_lab.contrib.laws.subjects import Subject
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from tests.encodings import laws
from tests.models import ARCHITECTURES


def arguments() -> list[tuple[str, tuple[tuple[str, Any], ...]]]:
    """Each set of arguments that members state as sensitive, once; but for the defaults."""
    found = {}
    for name in plugins.names("encodings"):
        common = {} if laws.is_attention(name) else laws.COMMON
        values = [{argument: value} for argument, pair in common.items() for value in pair]
        for given in ({}, *values, *itertools.chain.from_iterable(laws.sensitive(name).values())):
            with contextlib.suppress(UserError):  # the member's own tests report it
                plugin = plugins.resolve("encodings", laws.spec(name, **given))
                found.setdefault(plugin, (name, tuple(given.items())))
    return [case for case in found.values() if case[1]]


@pytest.mark.full
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("name", "arguments"), arguments(), ids=str)
def test_every_law_holds_for_every_argument(name, arguments, architecture):
    if name not in laws.names(architecture):
        pytest.skip(f"{name} is not defined there")
    one = Subject(laws.spec(name, **dict(arguments)), architecture)
    try:
        needs = one.requirements
    except UserError as e:
        if "with these arguments is not defined" in str(e):
            pytest.skip(str(e))
        raise
    assert laws.acts_in(needs, architecture)
    # Arguments under which a law has nothing to see: its difference is 0, or as small as stated.
    excused = {
        law: difference
        for excused_arguments, architectures, law, difference in getattr(
            laws.own_tests(name), "EXCUSED", ()
        )
        if excused_arguments == dict(arguments) and architecture in architectures
    }
    for law in laws.laws_of(architecture):
        if law in excused:
            with pytest.raises(AssertionError, match=f"^differ by {excused[law]} only"):
                laws.LAWS[law](one)
        else:
            laws.LAWS[law](one)
