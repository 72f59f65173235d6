import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.multiplication import Multiplication
from tests.tasks import _oracles
from tests.tasks.drawing import drawn, symbols

VARIANTS = [
    {},
    dict(
        other_digits=None, padding="none", reverse_operands=True, zero=False, reverse_answer=False
    ),
    dict(other_digits=None, scratchpad=True),
    dict(other_digits=2, base=2, lengths="equal", scratchpad=True, padding="none"),
]


def oracle(task, prompt):
    first, second = task.operands_of(prompt, "*")
    a, b = _oracles.read(task, first), _oracles.read(task, second)
    padded = task.padding != "none"
    if not task.scratchpad:
        text = _oracles.write(task, a * b, len(first) + len(second) if padded else 1)
        return np.array(symbols(task.vocabulary, " ".join(text)))
    digits = second if task.reverse_operands else second[::-1]
    partial_width = len(first) + (1 if padded else 0)
    sum_width = len(first) + (len(second) if padded else 0)
    partial = [
        _oracles.write(task, a * _oracles.read(task, digit), partial_width) for digit in digits
    ]
    sums = []
    for k in range(1, len(digits) + 1):
        sums.append(_oracles.write(task, a * (b % task.base**k), sum_width))
    text = "+".join(partial) + "=" + ">".join(sums)
    return np.array(symbols(task.vocabulary, " ".join(text)))


def said(prompt, **arguments):
    task = Multiplication(**arguments)
    return task.vocabulary.text(
        oracle(task, np.array(symbols(task.vocabulary, " ".join(prompt)))).tolist()
    ).replace(" ", "")


def test_worked_examples():
    assert said("999*9") == "1998"
    assert said("12*0", reverse_answer=False) == "000"
    assert said("12*0", padding="none") == "0"
    assert said("011*11", padding="none", base=2, reverse_operands=True) == "01001"  # 6 * 3 = 18
    scratchpad = dict(other_digits=None, scratchpad=True, reverse_answer=False)
    assert said("99*99", **scratchpad) == "891+891=0891>9801"
    assert said("12*10", padding="none", **scratchpad) == "00+12=00>120"
    assert said("12*01", padding="none", reverse_operands=True, **scratchpad) == "00+21=00>210"


@pytest.mark.slow
def test_long_products_are_those_of_the_oracle():
    task = Multiplication(other_digits=None, lengths="equal")
    examples = drawn(task, 30, 8)
    for prompt, target in zip(examples.prompt, examples.target, strict=True):
        np.testing.assert_array_equal(target, oracle(task, prompt))


@pytest.mark.slow
def test_a_second_operand_of_fixed_digits_is_uniform_and_may_begin_with_0():
    """2000 draws of 2 digits have 200 of each digit at both places, standard deviation 13.4."""
    task = Multiplication(other_digits=2)
    examples = drawn(task, 1, 2000)
    assert (examples.prompt_mask.sum(axis=1) == 4).all()
    for place in (2, 3):
        assert abs(np.bincount(examples.prompt[:, place], minlength=10) - 200).max() < 65


@pytest.mark.slow
def test_both_operands_have_lengths_of_their_own():
    """900 draws of 1..3 and 1..3: 100 of each pair, standard deviation 9.4."""
    examples = drawn(Multiplication(other_digits=None), 3, 900)
    first = (examples.prompt == 10).argmax(axis=1)
    second = examples.prompt_mask.sum(axis=1) - 1 - first
    counts = np.bincount(4 * first + second, minlength=16).reshape(4, 4)
    assert counts[0].sum() + counts[:, 0].sum() == 0
    assert abs(counts[1:, 1:] - 100).max() < 45


@pytest.mark.slow
def test_digits_of_equal_significance_share_a_number():
    structure = drawn(Multiplication(lengths="equal"), 2, 1).structure
    assert [part[0].tolist() for part in structure["coupled"]] == [[2, 1, 0, 1], [1, 2, 3]]
    assert [part[0].tolist() for part in structure["symbols"]] == [
        [True, True, False, True],
        [True] * 3,
    ]
    assert [part[0].tolist() for part in structure["grid"]] == [
        [[1, 2], [1, 1], [0, 0], [2, 1]],
        [[3, 1], [3, 2], [3, 3]],
    ]


@pytest.mark.slow
def test_a_partial_product_has_the_significance_that_it_has_in_the_product():
    """Of 2 digits by 2: xxx + xxx = xxxx > xxxx."""
    examples = drawn(Multiplication(other_digits=None, scratchpad=True, lengths="equal"), 2, 1)
    grid = examples.structure["grid"][1][0]
    assert grid[:, 1].tolist() == [1, 2, 3, 0, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4]
    assert grid[:, 0].tolist() == [3, 3, 3, 0, 4, 4, 4, 0, 3, 3, 3, 3, 0, 4, 4, 4, 4]
    assert np.flatnonzero(examples.answer_mask[0]).tolist() == [13, 14, 15, 16]


def test_bounds_and_what_it_refuses():
    assert (
        Multiplication(other_digits=2).prompt_bound(5),
        Multiplication(other_digits=2).target_bound(5),
    ) == (8, 7)
    assert Multiplication(other_digits=None).target_bound(5) == 10
    assert Multiplication(other_digits=None, scratchpad=True).target_bound(2) == 17
    with pytest.raises(ValueError, match="one digit or more, got other_digits=0"):
        Multiplication(other_digits=0)
    with pytest.raises(ValueError, match="base 2 to 10, got base=1"):
        Multiplication(base=1)
