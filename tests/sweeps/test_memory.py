"""A sweep notes that a model does not fit into this machine's memory."""

import pytest

from pe_lab.sweeps import setups
from pe_lab.sweeps.setups import Setups
from pe_lab.training.build import build_setup
from tests import tiny


@pytest.fixture(scope="module")
def group():
    return tiny.group("nope", seeds=3)


def test_the_state_has_three_float32_numbers_for_each_parameter_and_member(group):
    setup = build_setup(group.run)
    # Copying 6 symbols has 8 tokens; two layers of width 16 with a feedforward width of 16.
    num_parameters = sum(leaf.size for leaf in _leaves(setup))
    assert num_parameters > 1000
    assert setups.state_bytes(group, setup) == 3 * 3 * 4 * num_parameters


def _leaves(setup):
    import jax

    return jax.tree.leaves(setup.abstract_params)


@pytest.mark.parametrize(
    ("available", "sentence"),
    [
        (10**12, None),
        (None, None),
        (10**3, "a run group needs at least 0 GB for parameters, gradients and the optimizer; "),
    ],
)
def test_a_note_compares_the_largest_group_with_the_machine(
    group, available, sentence, monkeypatch
):
    monkeypatch.setattr(setups, "machine_bytes", lambda: available)
    note = setups.memory_note([group], Setups())
    assert (note is None) == (sentence is None)
    if sentence:
        assert note.startswith(sentence)


def test_no_group_needs_no_memory():
    assert setups.memory_note([], Setups()) is None
