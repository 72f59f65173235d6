"""A setup is assembled in one file and checked in another, and neither imports back."""

import dataclasses
from pathlib import Path

import pytest

from pe_lab import training
from pe_lab.runs.errors import UserError
from pe_lab.training.build import build_setup
from pe_lab.training.costs import evaluation_flops, forward_flops
from pe_lab.training.setup import Setup, assemble
from tests import tiny


def test_a_setup_that_does_not_fit_is_assembled_and_refused():
    run = tiny.run(dict(name="learned", max_positions=3))
    assert assemble(run).run == run
    with pytest.raises(UserError, match=r"learned has positions 0\.\.2"):
        build_setup(run)


def test_a_setup_holds_what_a_run_is_built_of():
    """Costs, leaks and positions are functions of a setup beside it."""
    members = {name for name in vars(Setup) if not name.startswith("_")}
    members |= {field.name for field in dataclasses.fields(Setup)}
    assert not members & {"step_flops", "length_shares", "largest_position", "revealed"}


def test_no_circle_of_imports_hides_in_training():
    (folder,) = training.__path__
    files = sorted(Path(folder).rglob("*.py"))
    assert [file.name for file in files if "TYPE_CHECKING" in file.read_text("utf-8")] == []


def test_the_operations_of_evaluations_are_those_of_their_contexts():
    """12 steps with a curve point every 6, at the length 3, and tests at 2, 3 and 5."""
    setup = build_setup(tiny.run())
    vocabularies = setup.layout.vocabularies(setup.task)

    def flops(length):
        return forward_flops(setup.run.model, vocabularies, setup.num_tokens(length))

    curve, validation, test = 3 * 8 * flops(3), 16 * (flops(2) + flops(3)), 16 * flops(5)
    # Validation and test have the lengths 2 and 3.
    expected = curve + 2 * validation + test
    assert evaluation_flops(setup) == expected
