import copy
import dataclasses
import pickle
import re
from typing import Any, Literal

import pytest
from flax import nnx

from pe_lab.choices import ChecksChoices, choice_error, has_choices
from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.deberta import DeBERTa
from pe_lab.encodings.fox import FoX
from pe_lab.encodings.kerple import KERPLE
from pe_lab.encodings.rope import RoPE
from pe_lab.encodings.sinusoidal import Sinusoidal
from pe_lab.positions.randomized import Randomized
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.tasks.addition import Addition

RNGS = nnx.Rngs(params=0)
HEADS: dict[str, Any] = dict(num_heads=2, rngs=RNGS)
DEBERTA: dict[str, Any] = dict(width=4, head_dim=2, **HEADS)


@pytest.mark.parametrize(
    ("cls", "arguments", "sentence"),
    [
        (RoPE, dict(head_dim=8, scaling="yarrn"), "scaling has no 'yarrn'. Did you mean 'yarn'?"),
        (RoPE, dict(head_dim=8, layout="haf"), "layout has no 'haf'. Did you mean 'half'?"),
        (RoPE, dict(head_dim=8, scaling=None), "scaling has no 'None'. Did you mean 'none'?"),
        (KERPLE, dict(form="log", **HEADS), "form has no 'log'. It has: logarithmic, power."),
        (ALiBi, dict(form="symetric"), "form has no 'symetric'. Did you mean 'symmetric'?"),
        (FoX, dict(width=4, gate="ful", **HEADS), "gate has no 'ful'. Did you mean 'full'?"),
        (Randomized, dict(per="exmple"), "per has no 'exmple'. Did you mean 'example'?"),
        (Addition, dict(padding="non"), "padding has no 'non'. Did you mean 'none'?"),
        (Sinusoidal, dict(combine="added"), "combine has no 'added'. Did you mean 'add'?"),
        (DeBERTa, dict(terms=("c2p", "pc"), **DEBERTA), "terms has no 'pc'. Did you mean 'p2c'?"),
        (DeBERTa, dict(terms="c2p", **DEBERTA), "terms must be a tuple, got 'c2p'."),
    ],
)
def test_an_unknown_choice_is_rejected_by_the_constructor(cls, arguments, sentence):
    with pytest.raises(ValueError, match=re.escape(f"{cls.__name__}'s {sentence}")):
        cls(**arguments)


def test_replaced_and_positional_fields_are_checked_as_well():
    with pytest.raises(ValueError, match="Randomized's per has no 'exmple'"):
        dataclasses.replace(Randomized(), per="exmple")
    with pytest.raises(ValueError, match="Randomized's per has no 'exmple'"):
        Randomized(2048, "exmple")


def test_a_config_rejects_a_choice_with_the_same_sentence():
    sentence = "randomized's per has no 'exmple'. Did you mean 'example'? It has: batch, example."
    with pytest.raises(UserError, match=re.escape(sentence)):
        plugins.resolve("positions", dict(name="randomized", per="exmple"))


def test_a_class_without_arguments_takes_none():
    class Plain(ChecksChoices):
        """A class without a constructor of its own."""

    with pytest.raises(TypeError, match=r"Plain\(\) takes no arguments"):
        Plain(form="causal")


def test_copies_need_no_arguments():
    scheme = Randomized(maximum=9, per="example")
    assert copy.deepcopy(scheme) == pickle.loads(pickle.dumps(scheme)) == scheme


@pytest.mark.parametrize(
    ("value", "annotation", "error"),
    [
        ("a", Literal["a", "b"], None),
        ("c", Literal["a", "b"], "x has no 'c'. It has: a, b."),
        (2, Literal[1, 2], None),
        (("a", "a"), tuple[Literal["a", "b"], ...], None),
        (("a", "c"), tuple[Literal["a", "b"], ...], "x has no 'c'. It has: a, b."),
        (["a"], tuple[Literal["a", "b"], ...], "x must be a tuple, got ['a']."),
        ((1, 2), tuple[int, ...], None),
        ((), tuple[()], None),
        ("c", str, None),
        ("c", None, None),
    ],
)
def test_a_value_is_compared_with_its_annotation(value, annotation, error):
    assert choice_error(value, annotation, "x") == error
    assert has_choices(annotation) == ("Literal" in str(annotation))


class Parent(ChecksChoices):
    def __init__(self, *, order: Literal["up", "down"] = "up"):
        self.order = order


class Child(Parent):
    def __init__(self, size: int, form: Literal["round", "square"], **rest: Any):
        super().__init__(**rest)
        self.size, self.form = size, form


def test_inherited_and_positional_arguments_are_checked():
    assert Child(3, "round", order="down").order == "down"
    with pytest.raises(ValueError, match=r"Child's order has no 'upp'\. Did you mean 'up'"):
        Child(3, "round", order="upp")
    with pytest.raises(ValueError, match=r"Child's form has no 'sqare'\. Did you mean 'square'"):
        Child(3, "sqare")
