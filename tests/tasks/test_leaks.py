"""No position gives an answer or its length away unless the setup says so."""

import functools
import itertools
from dataclasses import dataclass

import jax.numpy as jnp
import pytest

from pe_lab.contrib.papers.positions.coupled import Coupled
from pe_lab.positions.abacus import Abacus
from pe_lab.positions.base import PositionScheme, indices
from pe_lab.positions.contiguous import Contiguous
from pe_lab.positions.grid import Grid
from pe_lab.positions.normalized import Normalized
from pe_lab.positions.two_stream import TwoStream
from pe_lab.runs.errors import UserError
from pe_lab.tasks.layouts import LAYOUTS
from pe_lab.training import exposure
from pe_lab.training.build import build_setup
from pe_lab.training.exposure import revealed
from tests import tiny
from tests.tasks import leaks
from tests.tasks.cases import every, task

COUPLED = Coupled(max_position=40)
SCHEMES = (COUPLED, Grid(), Abacus())
FORWARD = dict(
    padding="none", reverse_answer=False, base=2
)  # the first digit is 1, whatever the length
UNPADDED = dict(padding="none", base=2)
LEAKS = [
    ("sort", {}, "encoder", COUPLED, "answer"),
    ("stack_manipulation", {}, "decoder", COUPLED, "answer"),
    ("addition", FORWARD, "decoder", COUPLED, "length"),
]
MORE_LEAKS = [
    ("stack_manipulation", {}, "encoder", COUPLED, "answer"),
    ("stack_manipulation", {}, "encoder_decoder", COUPLED, "answer"),
    ("keyed_sort", {}, "encoder", COUPLED, "answer"),
    ("copy_page", dict(form="transposed"), "encoder", COUPLED, "answer"),
    ("copy_page", dict(form="flipped"), "decoder", COUPLED, "answer"),
    ("addition", FORWARD, "decoder", Grid(), "length"),
    ("addition", FORWARD, "encoder_decoder", COUPLED, "length"),
    ("subtraction", FORWARD, "decoder", COUPLED, "length"),
    ("subtraction", UNPADDED | dict(negative=True, lengths="equal"), "encoder", Abacus(), "answer"),
    # A product with one digit has the length of the operand that the prompt shows.
    ("multiplication", FORWARD | dict(other_digits=2), "decoder", COUPLED, "length"),
    ("addition", UNPADDED, "decoder", Normalized(), "length"),
]
CLEAN = [
    ("copy", {}, "encoder", COUPLED),
    ("addition", dict(padding="none"), "decoder", COUPLED),
    ("sort", {}, "decoder", COUPLED),
]


def length_of(one):
    """A length at which examples differ and there are few lengths of parts."""
    longest = one.min_length + (2 if one.length_name == "digits" else 3)
    return longest if one.max_length is None else min(longest, one.max_length)


@functools.cache
def found(name, arguments, layout, scheme, length_known):
    """What the predictors find."""
    one = task(name, arguments)
    return leaks.leaks(
        one, LAYOUTS[layout](end_token=False), scheme, drawn(name, arguments), length_known
    )


@functools.cache
def drawn(name, arguments):
    one = task(name, arguments)
    return leaks.draw(one, length_of(one))


def check(name, arguments, layout, scheme):
    """The law: what positions give away is said."""
    arguments = tuple(sorted(arguments.items()))
    made = LAYOUTS[layout](end_token=False)
    says = revealed(task(name, arguments), made, scheme)
    allowed = {None: set(), "length": {"length"}, "answer": {"length", "answer"}}[says]
    gives_away = found(name, arguments, layout, scheme, says is not None)
    assert gives_away <= allowed, (
        f"{name}, {layout}, {scheme}: positions reveal the {gives_away - allowed}"
    )


cases = lambda listed: pytest.mark.parametrize(
    "case", listed, ids=lambda c: f"{c[0]}-{c[2]}-{type(c[3]).__name__}-{c[1]}"
)
full = lambda listed: [pytest.param(case, marks=pytest.mark.full) for case in listed]


@pytest.mark.slow
@cases([*LEAKS, *CLEAN[:1], *full(MORE_LEAKS), *full(CLEAN[1:])])
def test_positions_reveal_nothing_that_is_not_said(case):
    check(*case[:4])


@pytest.mark.slow
@cases([*LEAKS, *full(case for case in MORE_LEAKS if not case[3].reads_length)])
def test_the_law_finds_each_known_leak_that_a_task_keeps_silent_about(case, monkeypatch):
    name, arguments, layout, scheme, what = case
    monkeypatch.setattr(type(task(name)), "reveals", lambda *_: None)
    with pytest.raises(AssertionError, match=f"positions reveal the .*{what}"):
        check(name, arguments, layout, scheme)


@dataclass(frozen=True)
class CountsDown(PositionScheme):
    """The last token has position 0, which tells how many follow; nothing says so."""

    def __call__(self, keys, mask, *, segments=None, structure=None, train):
        return jnp.where(mask, mask.sum(axis=1, keepdims=True) - 1 - indices(mask), 0)[None]


@pytest.mark.slow
def test_the_law_finds_a_scheme_that_keeps_silent_about_the_length():
    with pytest.raises(AssertionError, match=r"positions reveal the \{'length'\}"):
        check("addition", FORWARD, "decoder", CountsDown())


@pytest.mark.full
@every
def test_the_law_holds_for_every_task_with_a_structure(name, arguments):
    examples = drawn(name, arguments)
    followed = [scheme for scheme in SCHEMES if scheme.follows in examples.structure]
    if "coupled" not in examples.structure and (examples.alignment >= 0).any():
        followed.append(COUPLED)
    for layout, scheme in itertools.product(LAYOUTS, followed):
        check(name, dict(arguments), layout, scheme)


@pytest.mark.full
@pytest.mark.parametrize(
    "scheme", [TwoStream(), Contiguous(), Normalized()], ids=lambda scheme: type(scheme).__name__
)
def test_the_law_holds_for_schemes_that_follow_no_task(scheme):
    for layout in LAYOUTS:
        check("addition", UNPADDED, layout, scheme)


def run(task, scheme, layout, **changes):
    positions = {"coupled": {"name": "coupled", "max_position": 40}, "abacus": {"name": "abacus"}}[
        scheme
    ]
    return tiny.run("rope", task=task, positions=positions, layout__name=layout, **changes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "layout"),
    [
        ({"name": "sort"}, "encoder"),
        ({"name": "keyed_sort", "max_digits": 2}, "encoder"),
        ({"name": "stack_manipulation"}, "encoder"),
        ({"name": "stack_manipulation"}, "decoder"),
    ],
)
def test_positions_that_reveal_the_answer_are_refused(spec, layout):
    words = (
        rf"^{spec['name']} cannot have the positions coupled in the layout {layout}: "
        r"the position of a target token would reveal the answer\.$"
    )
    with pytest.raises(UserError, match=words):
        build_setup(run(spec, "coupled", layout))


@pytest.mark.slow
def test_positions_that_reveal_the_answer_are_refused_in_an_evaluation_too():
    coupled = dict(positions={"name": "coupled", "max_position": 40})
    made = tiny.run(
        "rope", task={"name": "sort"}, layout__name="encoder", evaluate__overrides=(coupled,)
    )
    with pytest.raises(UserError, match="would reveal the answer"):
        build_setup(made.with_override(made.evaluate.overrides[0]), trained=False)


@pytest.mark.slow
def test_positions_that_nothing_reads_reveal_nothing():
    made = tiny.run(
        "nope",
        task={"name": "sort"},
        layout__name="encoder",
        positions={"name": "coupled", "max_position": 40},
    )
    assert exposure.revealing_schemes(build_setup(made), "answer") == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (FORWARD, "length"),
        (FORWARD | dict(total_length=True), "length"),
        (FORWARD | dict(answer="carries"), None),
        (dict(padding="none"), None),
        ({}, None),
    ],
)
def test_sums_without_padding_reveal_their_length_from_the_first_digit_on(arguments, says):
    one = task("addition", tuple(arguments.items()))
    for scheme in (COUPLED, Grid()):
        assert revealed(one, LAYOUTS["decoder"](end_token=False), scheme) == says
    assert revealed(one, LAYOUTS["decoder"](end_token=False), Abacus()) is None


@pytest.mark.slow
def test_what_reveals_the_length_is_marked():
    forward, backward = (
        run({"name": "addition", **more}, "coupled", "decoder") for more in (FORWARD, {})
    )
    assert [exposure.reveals_target_length(build_setup(each)) for each in (forward, backward)] == [
        True,
        False,
    ]
