"""Every law on every scheme of the folder."""

import functools
import itertools
from pathlib import Path

import pytest

from pe_lab.contrib.laws.scheme_laws import LAWS, build, keys, mask, wide
from pe_lab.runs.plugins import plugins
from tests import choices, members

ROOT = Path(__file__).parents[2]


def specs():
    """Case -> spec: every scheme with its ARGUMENTS, and its VARIANTS on top of them."""
    cases = {}
    for name in plugins.names("positions"):
        cases[name] = members.spec("positions", name)
        variants = getattr(members.own_tests("positions", name), "VARIANTS", {})
        for title, arguments in variants.items():
            cases[f"{name}, {title}"] = members.spec("positions", name, **arguments)
    return cases


SPECS = specs()
# One scheme that counts, one that follows a structure, and one that draws; the full suite has all.
QUICK = ("contiguous", "coupled", "random_floats")
# Laws that every scheme runs in the quick suite.
CHEAP = (
    "traits_say_what_positions_are",
    "only_schemes_that_keep_differences_count_tokens_by_ones",
)


def cases():
    """Names and laws for `parametrize`; those that are not quick are marked."""
    return [
        pytest.param(name, law, marks=() if name in QUICK or law in CHEAP else pytest.mark.full)
        for name, law in itertools.product(SPECS, LAWS)
    ]


@functools.cache
def scheme(name):
    return build(SPECS[name])


@pytest.mark.parametrize(("name", "law"), cases())
def test_law_holds(name, law):
    LAWS[law](scheme(name))


@pytest.mark.parametrize("name", plugins.names("positions"))
def test_it_has_a_test_file_of_its_own(name):
    file = f"{members.test_module('positions', name).replace('.', '/')}.py"
    assert (ROOT / file).exists(), (
        f"pe_lab/positions/{name}.py needs tests/positions/test_{name}.py, with "
        "ARGUMENTS, a value for each argument that has no default"
    )


@pytest.mark.parametrize("name", ["abacus", "coupled", "multimodal", "separators", "two_stream"])
def test_what_follows_a_structure_says_which_it_lacks(name):
    for structure in (None, {"other": wide([1], mask())}):
        with pytest.raises(
            ValueError,
            match=r"follows structure\['(symbols|coupled|grid|parts|separators)'\], one value "
            r"a token, and was given none",
        ):
            scheme(name)(keys(), mask(), structure=structure, train=False)


REFUSALS = [
    pytest.param(name, arguments, sentence, id=f"{name}-{arguments}")
    for name in plugins.names("positions")
    for arguments, sentence in getattr(members.own_tests("positions", name), "REFUSALS", ())
]


@pytest.mark.parametrize(("name", "arguments", "sentence"), REFUSALS)
def test_arguments_that_make_no_sense_are_refused(name, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        plugins.find("positions", name)(**arguments)


@pytest.mark.parametrize(("name", "argument"), choices.arguments("positions"))
def test_a_misspelled_choice_is_rejected(name, argument):
    choices.assert_misspellings_are_rejected("positions", name, argument)
