import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.tasks._arithmetic import carried, num_digits
from pe_lab.tasks.addition import Addition
from tests.tasks import _oracles
from tests.tasks.drawing import drawn, symbols

VARIANTS = [
    {},
    dict(padding="none", reverse_operands=True, zero=False, blanks=0.4),
    dict(operands=4, min_operands=2, padding="answer", scratchpad=True, lengths="mixed"),
    dict(padding="answer", hints=12, lengths="one_longest"),
    dict(answer="virtual_carries", interleaved=True, lengths="equal", reverse_answer=False),
    dict(base=2, padding="none", reverse_answer=False, total_length=True),
    dict(operands=3, padding="none", zero=False, other_digits=3),
]
REFUSALS = [
    (dict(base=11), "base 2 to 10, got base=11"),
    (dict(operands=2, min_operands=3), "got 3 and 2"),
    (dict(blanks=1.0), "below 1, got 1.0"),
    (dict(operands=3, interleaved=True), "3 to 3 operands cannot have interleaved=True"),
    (
        dict(operands=3, min_operands=1, answer="carries"),
        "1 to 3 operands cannot have answer='carries'",
    ),
    (dict(scratchpad=True, answer="carries"), "not answer='carries'"),
    (dict(interleaved=True, padding="none"), "need padding"),
    (dict(total_length=True), "got 'independent', 'longest' and None"),
    (dict(total_length=True, padding="none", other_digits=2), "'none' and 2"),
    (dict(total_length=True, padding="none", hints=8), "no hints and no blanks, got 8 and 0.0"),
    (dict(total_length=True, padding="none", blanks=0.1), "no blanks, got 0 and 0.1"),
    (dict(other_digits=0), "other_digits is 1 or more, got 0"),
    (dict(hints=4, other_digits=4), "no hints, got 4"),
    (dict(hints=1), "no hints, got 1"),
    (dict(hints=-1), "no hints, got -1"),
]


def oracle(task, prompt):
    words = [task.vocabulary.names[symbol] for symbol in prompt]
    numbers = _oracles.addition(task, words, task.operands_of(prompt, "+"))
    return np.array(symbols(task.vocabulary, " > ".join(numbers)))


def keys(count):
    return jax.random.split(jax.random.key(3), count)


def lengths(count, length, operands=2, **arguments):
    task = Addition(operands=operands, **arguments)
    return np.asarray(
        jax.jit(jax.vmap(lambda key: task.draw_lengths(key, jnp.asarray(length), operands)))(
            keys(count)
        )
    )


def one_structure(length, **arguments):
    """Of an example with operands of `length` digits."""
    structure = drawn(Addition(lengths="equal", **arguments), length, 1).structure
    return {name: tuple(part[0].tolist() for part in pair) for name, pair in structure.items()}


@pytest.mark.slow
def test_a_carry_runs_through_nines():
    digits, carries = carried(jnp.array([[10, 9, 9, 0], [18, 18, 0, 0], [-1, 0, 1, 0]]), 10)
    assert digits.tolist() == [[0, 0, 0, 1], [8, 9, 1, 0], [9, 9, 0, 0]]
    assert carries.tolist() == [[0, 1, 1, 1], [0, 1, 1, 0], [0, -1, -1, 0]]
    assert num_digits(digits).tolist() == [4, 3, 2]
    assert num_digits(jnp.zeros(3, int)) == 1


@pytest.mark.parametrize(
    ("kind", "into"), [("carries", "0110"), ("direct_carries", "0100"), ("virtual_carries", "0010")]
)
def test_653_and_49_carry_twice_once_because_of_the_place_below(kind, into):
    task = Addition(answer=kind)
    said = oracle(task, np.array(symbols(task.vocabulary, "6 5 3 + 0 4 9")))
    assert "".join(map(str, said)) == into


@pytest.mark.full
def test_digits_of_equal_significance_share_a_number():
    plain = one_structure(2)
    assert plain["coupled"] == ([2, 1, 0, 2, 1], [1, 2, 3])
    assert plain["symbols"] == ([True, True, False, True, True], [True] * 3)
    assert plain["grid"] == ([[1, 2], [1, 1], [0, 0], [2, 2], [2, 1]], [[3, 1], [3, 2], [3, 3]])
    assert one_structure(2, reverse_operands=True, reverse_answer=False)["coupled"] == (
        [1, 2, 0, 1, 2],
        [3, 2, 1],
    )


@pytest.mark.slow
def test_hints_and_signs_are_no_digits_and_the_sum_of_k_operands_has_row_k_plus_1():
    hinted = one_structure(1, padding="answer", hints=5, scratchpad=True)
    assert hinted["coupled"] == ([0, 2, 0, 1, 0, 0, 2, 0, 1], [0, 1, 0, 2, 0] * 2 + [0, 1, 0, 2])
    rows = [row for row, _ in hinted["grid"][1]]
    assert rows == [0, 1, 0, 1, 0, 0, 2, 0, 2, 0, 0, 3, 0, 3]


@pytest.mark.slow
def test_only_the_last_sum_of_a_scratchpad_is_scored():
    """dd + dd -> 00 > dd > dd"""
    examples = drawn(Addition(lengths="equal", padding="answer", scratchpad=True), 1, 1)
    assert np.flatnonzero(examples.answer_mask[0]).tolist() == [6, 7]


@pytest.mark.slow
def test_lengths_of_operands():
    """900 draws of 1..3: 300 of each, standard deviation 14. 900 coins: 450, standard deviation 15.

    Bounds are four standard deviations and more.
    """
    both = lengths(900, 3)
    for column in both.T:
        assert abs(np.bincount(column, minlength=4)[1:] - 300).max() < 60
    assert abs((both[:, 0] == both[:, 1]).sum() - 300) < 60
    assert (lengths(20, 7, lengths="equal") == 7).all()
    longest = lengths(900, 7, operands=3, lengths="one_longest")
    assert (longest.max(axis=1) == 7).all()
    assert abs((longest == 7).sum(axis=0) - 900 * (1 / 3 + 2 / 3 / 7)).max() < 60
    mixed = lengths(900, 7, operands=5, lengths="mixed")
    assert abs((mixed == mixed[:, :1]).all(axis=1).sum() - 450) < 65
    assert set(mixed[:, 0]) == set(range(1, 8))


@pytest.mark.slow
def test_a_first_digit_is_not_0_except_in_0_itself():
    """1800 draws: 200 of each of 9 digits, standard deviation 13.4, or 180 of each of 10, 12.8."""

    def numbers(length, **arguments):
        return np.asarray(
            jax.vmap(lambda key: Addition(**arguments).draw_number(key, jnp.asarray(length), 5))(
                keys(1800)
            )
        )

    three = numbers(3)
    assert (three[:, 3:] == 0).all()
    for place, least, expected in ((2, 1, 200), (1, 0, 180), (0, 0, 180)):
        counts = np.bincount(three[:, place], minlength=10)
        assert counts[:least].sum() == 0
        assert abs(counts[least:] - expected).max() < 65
    assert abs(np.bincount(numbers(1)[:, 0], minlength=10) - 180).max() < 65
    assert set(numbers(1, zero=False)[:, 0]) == set(range(1, 10))


@pytest.mark.slow
def test_the_number_of_operands_is_uniform():
    """900 draws of 2..4: 300 of each, standard deviation 14."""
    task = Addition(operands=4, min_operands=2)
    prompts = drawn(task, 2, 900).prompt
    counts = np.bincount((prompts == task.vocabulary.names.index("+")).sum(axis=1), minlength=4)
    assert counts[0] == 0
    assert abs(counts[1:] - 300).max() < 60


@pytest.mark.slow
def test_blanks_are_in_front_of_a_part_of_the_tokens():
    """2000 prompts of 3 tokens, with blanks at p = 0.5.

    3000 tokens have a blank, standard deviation 39. 150 have two, standard deviation 12.
    """
    task = Addition(padding="none", blanks=0.5)
    examples = drawn(task, 1, 2000)
    text = [
        "".join(task.vocabulary.names[s] for s in row[mask])
        for row, mask in zip(examples.prompt, examples.prompt_mask, strict=True)
    ]
    assert abs(sum(t.replace("__", "_").count("_") for t in text) - 3000) < 175
    assert abs(sum(t.count("__") for t in text) - 150) < 55
    assert max(t.count("___") for t in text) == 0
    assert {t.replace("_", "")[1] for t in text} == {"+"}
    blank = examples.prompt == task.vocabulary.names.index("_")
    assert not examples.structure["symbols"][0][blank].any()


@pytest.mark.slow
def test_hints_begin_anywhere_and_go_round():
    """1200 draws of 4 hints: 300 of each, standard deviation 15."""
    task = Addition(padding="answer", hints=4, lengths="equal")
    examples = drawn(task, 2, 1200).prompt[:, :6:2] - task.vocabulary.names.index("h0")
    assert abs(np.bincount(examples[:, 2], minlength=4) - 300).max() < 65
    np.testing.assert_array_equal(examples, (examples[:, 2:] + [[2, 1, 0]]) % 4)


@pytest.mark.slow
def test_a_total_length_counts_both_operands_both_signs():
    """1200 draws of 1..4 digits: 300 of each, standard deviation 15."""
    task = Addition(base=2, padding="none", total_length=True)
    examples = drawn(task, 7, 1200)
    assert (examples.prompt_mask.sum(axis=1) == 6).all()
    first = (examples.prompt == 2).argmax(axis=1)
    assert abs(np.bincount(first, minlength=5)[1:] - 300).max() < 65
    assert (task.min_length, task.prompt_bound(7), task.target_bound(7)) == (4, 6, 5)
    assert task.measure_length(examples.prompt[0], examples.target[0]) == 7


def test_bounds():
    """11 numbers of two nines are 1089, of one nine 99."""
    many = Addition(operands=11, padding="answer", scratchpad=True)
    assert [many.target_bound(n) for n in (1, 2)] == [12 * 2 + 11, 12 * 4 + 11]
    assert [many.prompt_bound(n) for n in (1, 2)] == [11 * 2 + 10, 11 * 4 + 10]
    interleaved = Addition(interleaved=True, lengths="equal")  # without a plus sign
    assert [interleaved.prompt_bound(n) for n in (1, 2)] == [2 * 1, 2 * 2]
    assert (
        Addition(hints=12).max_length,
        Addition(hints=3, operands=11).max_length,
        Addition().max_length,
    ) == (11, 1, None)


@pytest.mark.slow
def test_other_digits_are_those_of_every_operand_but_the_first():
    task = Addition(padding="none", zero=False, operands=3, other_digits=4, lengths="equal")
    examples = drawn(task, 2, 20)
    for prompt, mask in zip(examples.prompt, examples.prompt_mask, strict=True):
        assert [len(operand) for operand in task.operands_of(prompt[mask], "+")] == [2, 4, 4]
    # The shapes follow from the longer of the two, so that several values share them.
    assert [task.prompt_bound(n) for n in (2, 4, 5)] == [14, 14, 17]
