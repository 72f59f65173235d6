"""Length n of an evaluation is exact: each task measures its examples, and all have length n."""

import dataclasses
import inspect

import jax
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.bitwise_or import BitwiseOr
from pe_lab.contrib.papers.tasks.multiplication import Multiplication
from pe_lab.contrib.papers.tasks.subtraction import Subtraction
from pe_lab.runs.plugins import plugins
from pe_lab.tasks.addition import Addition
from tests.tasks.cases import every, exact, lengths_of, parts, rows, task
from tests.tasks.drawing import sample

COUNT = 256
BOUND = 9  # one shape for all lengths, and one compiled program for each task
ARITHMETIC = {
    "addition": Addition(),
    "addition, padded to the answer": Addition(operands=4, min_operands=2, padding="answer"),
    "addition, mixed": Addition(operands=3, lengths="mixed"),
    "subtraction": Subtraction(padding="none", negative=True),
    "multiplication": Multiplication(),
    "multiplication of equals": Multiplication(other_digits=None),
    "bitwise_or": BitwiseOr(),
}
arithmetic = pytest.mark.parametrize("one", ARITHMETIC.values(), ids=ARITHMETIC)


def measured(one, length, count=COUNT):
    """The measured lengths of `count` test examples of one length, and the examples."""
    keys = jax.random.split(jax.random.key(1), count)
    examples = sample(one, keys, np.full(count, length), BOUND, "test")
    found = [one.measure_length(*parts(example)[:2]) for example in rows(examples)]
    return np.array(found), examples


@every
def test_a_task_whose_lengths_have_gaps_says_that_they_are_upper_bounds(name, arguments):
    one = task(name, arguments)
    gaps = any(list(one.evaluation_lengths(n)) != [n] for n in lengths_of(one))
    if gaps or one.exact_arguments("all"):
        assert "upper bound" in " ".join(inspect.getmodule(type(one)).__doc__.split())


@pytest.mark.parametrize("name", plugins.names("tasks"))
def test_exact_arguments_belong_to_the_task(name):
    cls = plugins.find("tasks", name)
    arguments = dataclasses.fields(cls)
    has_operands = name in ("addition", "bitwise_or", "multiplication", "subtraction")
    assert has_operands == ("lengths" in {field.name for field in arguments})
    assert has_operands == (
        cls.exact_arguments is not plugins.find("tasks", "copy").exact_arguments
    )


@pytest.mark.slow
@arithmetic
def test_in_training_most_long_examples_are_shorter_than_their_length(one):
    found, _ = measured(one, 9)
    assert found.max() == 9
    assert (found < 9).mean() > 0.3


@pytest.mark.slow
@arithmetic
def test_the_longest_operand_is_exact_and_the_others_are_not(one):
    lengths = [written(one, example) for example in drawn(exact(one, "longest"), 9)]
    assert {max(each) for each in lengths} == {9}
    most = max(map(len, lengths))
    if most > 1:
        assert np.mean([min(each) < 9 for each in lengths]) > 0.5
        assert {each.index(9) for each in lengths} == set(range(most))


@pytest.mark.slow
@arithmetic
def test_all_operands_are_exact(one):
    lengths = [written(one, example) for example in drawn(exact(one, "all"), 9)]
    assert {n for each in lengths for n in each} == {9}


@pytest.mark.slow
@arithmetic
def test_both_forms_agree_at_the_shortest_length(one):
    for operands in ("longest", "all"):
        assert (measured(exact(one, operands), 1)[0] == measured(one, 1)[0]).all()


@pytest.mark.parametrize("lengths", ["equal", "one_longest"])
def test_a_task_with_exact_lengths_stays_as_it_is(lengths):
    one = Addition(lengths=lengths)
    assert exact(one, "longest") == one
    assert Addition(lengths="equal").exact_arguments("longest") == {}
    assert Addition(base=2, padding="none", total_length=True).exact_arguments("all") == {}


@pytest.mark.slow
def test_the_longest_operand_is_one_that_is_there():
    """With 2 to 4 operands, the longest is never one that the prompt leaves out."""
    one = Addition(operands=4, min_operands=2, lengths="one_longest")
    found, examples = measured(one, 6, count=600)
    assert set(found) == {6}
    plus = examples.prompt == one.vocabulary.names.index("+")
    counts = (plus & examples.prompt_mask).sum(axis=1)
    assert set(counts) == {1, 2, 3}


def test_pairs_of_vectors_with_an_exact_longer_one_are_equally_likely():
    """Of 3 bits: 5 pairs of lengths for place 0, 3 for place 1, 1 for place 2; 1800 draws."""
    one = exact(BitwiseOr(), "longest")
    counts = {}
    for example in drawn(one, 3, count=1800):
        first, second = vectors(one, parts(example)[0])
        key = (len(first), len(second), first.find("1") if "1" in first else second.find("1"))
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 5 + 3 + 1
    assert max(abs(count - 200) for count in counts.values()) < 60


def drawn(one, length, count=COUNT):
    return list(rows(measured(one, length, count)[1]))


def vectors(one, prompt):
    """The two vectors of a prompt of bitwise_or, as strings of bits."""
    return one.vocabulary.text(prompt.tolist()).replace(" ", "").split("|")


def written(one, example):
    """The digits or bits of each operand that the length counts."""
    prompt = parts(example)[0]
    if isinstance(one, BitwiseOr):
        return [len(vector) for vector in vectors(one, prompt)]
    sign = one.vocabulary.names[one.base]  # it follows the digits
    operands = one.operands_of(prompt, sign)
    if isinstance(one, Multiplication) and one.other_digits is not None:
        operands = operands[:1]
    return [one.num_written_digits(operand) for operand in operands]
