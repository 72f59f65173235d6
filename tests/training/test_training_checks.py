"""What cannot be trained is refused with a sentence."""

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.tasks._strings import StringTask
from pe_lab.tasks.base import Attribute, make_example
from pe_lab.training import exposure
from pe_lab.training.build import build_setup
from pe_lab.training.checks import out_of_reach
from tests import tiny


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (
            ("sinusoidal", {"task": {"name": "copy", "num_symbols": 4}}),
            "copy with these arguments has no examples longer than 4 symbols, got length 5 "
            r"in config.evaluate.lengths\.$",
        ),
        (
            ("rope", {"task": {"name": "scan", "max_train": 2}}),
            r"^scan with these arguments trains with at most 2 actions: config.train.max_length ",
        ),
        (
            ("axial_rope", {"positions": {"name": "grid"}}),
            "^copy has no structure 'grid', which the scheme grid follows",
        ),
        (
            ("axial_rope", {"positions": {"name": "grid"}, "task": {"name": "scan"}}),
            "^scan has no structure 'grid', which the scheme grid follows",
        ),
        (
            (
                "sinusoidal",
                {
                    "task": {"name": "copy", "num_symbols": 4},
                    "train__min_length": 5,
                    "train__max_length": 6,
                },
            ),
            "copy with these arguments has no examples longer than 4 symbols, got length 6 "
            r"in config.train.max_length",
        ),
        (
            ({"name": "learned", "max_positions": 7}, {}),
            r"learned has positions 0..6; length 3 asks for position 7: training there",
        ),
        (
            ("learned", {"positions": {"name": "normalized"}}),
            "learned needs whole positions; the scheme normalized gives fractions",
        ),
        (
            ("rope", {"positions": {"name": "randomized", "maximum": 7}}),
            "randomized has 7 positions; length 3 asks for 8",
        ),
        (
            ("binary", {"positions": {"name": "shifted", "max_shift": 70_000}}),
            "binary has positions 0..65535; length 3",
        ),
        (("rope", {"model__width": 6}), "must be even, got 3"),
    ],
)
def test_what_cannot_be_trained_is_refused_with_a_sentence(run, sentence):
    encoding, changes = run
    with pytest.raises(UserError, match=sentence):
        build_setup(tiny.run(encoding, **changes))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "encoding", "scheme", "expected"),
    [
        ("encoder", "nope", "contiguous", True),
        ("decoder", "rope", "contiguous", False),
        ("decoder", "rope", "randomized", True),
        ("decoder", "nope", "randomized", False),
        ("encoder_decoder", "rope", "contiguous", False),
        ("encoder_decoder", "rope", "normalized", True),
    ],
)
def test_a_model_is_told_the_targets_length_by_its_layout_or_by_positions_that_it_reads(
    layout, encoding, scheme, expected
):
    made = build_setup(tiny.run(encoding, layout__name=layout, positions={"name": scheme}))
    assert exposure.reveals_target_length(made) is expected


@dataclasses.dataclass(frozen=True)
class Successor(StringTask):
    """Copying with a number added to symbols, or wrong numbers in a structure."""

    num_symbols: int = 8
    distinct: bool = False
    prompt: int = 0
    target: int = 0
    coupled: int = 0
    alignment: int = 0
    test_target: int | None = None  # added in the test split alone
    largest: int = 99
    dtype: str = "int32"

    attributes: ClassVar = {
        "first": Attribute(
            "first symbol",
            lambda task, example: example.prompt[0] + 3,
            lambda task, length: task.largest,
        )
    }

    def data(self, split):
        if self.test_target is None:
            return None
        return jnp.int32(self.test_target if split == "test" else 0)

    def sample(self, key, length, bound, data=None):
        string = self.draw_string(key, bound)
        mask = jnp.arange(bound) < length
        numbers = jnp.arange(bound) + self.coupled
        return make_example(
            string + self.prompt,
            mask,
            (string + self.target + (0 if data is None else data)).astype(self.dtype),
            mask,
            alignment=jnp.arange(bound) + self.alignment,
            structure={"coupled": (numbers, numbers)},
        )


SUCCESSOR = f"{__name__}:Successor"


@pytest.mark.parametrize(
    ("argument", "number", "sentence"),
    [
        ("target", 1, r"gives the symbol 8 in its target, and its symbols are 0\.\.7, in an"),
        ("target", -1, "gives the symbol -1 in its target"),
        ("prompt", 1, "gives the symbol 8 in its prompt"),
        ("prompt", -1, "gives the symbol -1 in its prompt"),
        ("coupled", -1, r"gives the number -1 in structure\['coupled'\], not 0\.\.5"),
        ("coupled", 99, r"gives the number 99 in structure\['coupled'\]"),
        ("alignment", 1, r"gives the alignment 1, and its prompt has the tokens 0\.\.0"),
        ("alignment", -2, "gives the alignment -2"),
        ("test_target", 1, r"gives the symbol 8 .*, in an example of length \d of the test split"),
        ("largest", 2, r"gives the attribute first the value \d+, not 0\.\.2, in an"),
    ],
)
def test_a_users_task_is_refused_with_its_first_number_out_of_range(argument, number, sentence):
    task = {"name": SUCCESSOR, argument: number}
    with pytest.raises(UserError, match=f"^{SUCCESSOR} {sentence}"):
        build_setup(tiny.run("rope", task=task, evaluate__attributes=("first",)))


def test_a_users_task_with_symbols_in_range_is_taken():
    task = {"name": SUCCESSOR, "alignment": -1, "test_target": 0, "dtype": "uint8"}
    build_setup(tiny.run("rope", task=task, evaluate__attributes=("first",)))


@pytest.mark.slow
def test_what_reads_no_positions_takes_any_scheme():
    for name, arguments in {
        "normalized": {},
        "randomized": {},
        "shifted": {"max_shift": 3},
    }.items():
        assert plugins.find("positions", name)
        build_setup(tiny.run("nope", positions={"name": name, **arguments}))


def test_nope_goes_beyond_what_a_scheme_has_positions_for():
    made = build_setup(tiny.run("nope", positions={"name": "randomized", "maximum": 5}))
    assert out_of_reach(made, 5, 100) is None


@pytest.mark.slow
def test_a_table_of_the_decoder_alone_need_not_reach_along_the_source():
    """parity: a source of 7 bits, and a decoder that reads BEGIN and one answer."""
    layout = {
        "name": "encoder_decoder",
        "end_token": True,
        "examples_per_context": 1,
        "document_mask": True,
    }
    changes = {
        "layout": layout,
        "task": {"name": "parity"},
        "train__max_length": 7,
        "evaluate__lengths": (7,),
    }
    table = {"name": "learned", "max_positions": 2}
    assert (
        out_of_reach(build_setup(tiny.run({**table, "stacks": ("decoder",)}, **changes)), 7, 0)
        is None
    )
    with pytest.raises(
        UserError, match=r"learned has positions 0\.\.1; length 7 asks for position 6"
    ):
        build_setup(tiny.run(table, **changes))
