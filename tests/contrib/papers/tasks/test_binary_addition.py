import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.binary_addition import BinaryAddition
from pe_lab.tasks._binary import positive
from pe_lab.tasks.chance_levels import chance_levels
from pe_lab.tasks.layouts import Encoder
from tests.tasks._oracles import binary_numbers, padded_bits
from tests.tasks.drawing import first_drawn as drawn
from tests.tasks.drawing import said

VARIANTS = [{}, dict(padded=False)]


def oracle(task, prompt):
    return padded_bits(task, prompt, sum(binary_numbers(prompt)))


def test_worked_examples():
    """4 + 22 = 26 and 9 + 32 = 41, as in the papers' code; the last carries beyond both numbers."""
    assert said(BinaryAddition(), "0 0 1 + 0 1 1 0 1") == "0 1 0 1 1 end 0 0 0 0"
    assert said(BinaryAddition(), "1 0 0 1 + 0 0 0 0 0 1") == "1 0 0 1 0 1 end 0 0 0 0 0"
    assert said(BinaryAddition(padded=False), "1 + 1 1 1") == "0 0 0 1"


@pytest.mark.slow
def test_the_shortest_prompts_are_one_number_which_is_its_own_sum():
    task = BinaryAddition()
    one, two = (
        {
            (said_of(task.vocabulary, p), said_of(task.target_vocabulary, t))
            for p, t in pairs(task, n, 60)
        }
        for n in (1, 2)
    )
    assert one == {("0", "0 end")}
    assert two == {("0 0", "0 end 0"), ("1 0", "1 end 0"), ("0 1", "0 1 end")}


def pairs(task, length, count):
    e = drawn(task, length, count)
    return zip(e.prompt[:, :length], e.target[:, : length + 1], strict=True)


def said_of(vocabulary, symbols):
    return vocabulary.text(symbols.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("padded", [True, False])
def test_long_sums_are_those_of_pythons_own_integers(padded):
    task = BinaryAddition(padded=padded)
    e = drawn(task, 200, 20, bound=200)
    for prompt, target, mask in zip(e.prompt, e.target, e.target_mask, strict=True):
        np.testing.assert_array_equal(target[mask], oracle(task, prompt))


@pytest.mark.full
def test_a_number_is_uniform_above_zero():
    """2100 draws of three bits: 300 each, standard deviation 16. Each of 70 bits is set in half."""
    keys = jax.random.split(jax.random.key(1), 2100)
    bits = np.asarray(jax.vmap(lambda k: positive(k, jnp.asarray(3), 5))(keys))
    counts = np.bincount(bits @ [1, 2, 4, 8, 16], minlength=8)
    assert counts[0] == 0
    assert len(counts) == 8
    assert abs(counts[1:] - 300).max() < 75
    long = np.asarray(jax.vmap(lambda k: positive(k, jnp.asarray(70), 70))(keys))
    assert abs(long.mean(axis=0) - 0.5).max() < 0.055  # 5 standard deviations
    single = np.asarray(jax.vmap(lambda k: positive(k, jnp.asarray(1), 2))(keys))
    assert (single == [1, 0]).all()


@pytest.mark.slow
def test_the_first_number_has_each_size_equally_often():
    """At length 6 it has 1 to 4 bits: of 1200, 300 each expected, standard deviation 15."""
    sign = (drawn(BinaryAddition(), 6, 1200).prompt == 2).argmax(axis=1)
    counts = np.bincount(sign, minlength=5)
    assert counts[0] == 0
    assert abs(counts[1:5] - 300).max() < 70


def test_bits_of_one_significance_are_coupled_and_nothing_tells_where_the_sum_ends():
    e = jax.tree.map(lambda leaf: leaf[0].tolist(), drawn(BinaryAddition(), 6, 1))
    sign = e.prompt.index(2)
    assert e.structure["coupled"][0] == [*range(1, sign + 1), 0, *range(1, 6 - sign), 0, 0, 0]
    assert e.structure["symbols"][0] == [i != sign and i < 6 for i in range(9)]
    assert e.structure["coupled"][1] == [1, 2, 3, 4, 5, 6, 7, 0, 0, 0]
    assert e.structure["symbols"][1] == [True] * 7 + [False] * 3


def test_the_answer_of_a_padded_target_ends_with_the_terminator():
    e = drawn(BinaryAddition(), 9, 50)
    target, answer = e.target, e.answer_mask
    assert ((target == 2).argmax(axis=1) == answer.sum(axis=1) - 1).all()
    assert e.target_mask.all()
    assert (BinaryAddition().min_length, BinaryAddition(padded=False).min_length) == (1, 3)


@pytest.mark.slow
def test_the_floor_is_about_a_half():
    """1000 examples of about 30 tokens: standard deviation 0.003. Up to length 500 it is 0.5."""
    assert abs(chance_levels(BinaryAddition(), (41,), 1000)[0]["token_accuracy"] - 0.48) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("length", [3, 40])
def test_the_loss_counts_what_follows_the_terminator_and_the_accuracy_does_not(length):
    """As in the authors' code, whose loss is a mean over all `length + 1` places."""
    task = BinaryAddition()
    layout = Encoder(end_token=False)
    batch = jax.vmap(lambda example: layout(task, example))(drawn(task, length, 50, bound=40))
    assert (np.asarray(batch.target).sum(axis=1) == length + 1).all()
    symbols = np.where(batch.target, batch.labels, 0)
    terminator = (symbols == 2).argmax(axis=1)
    first = np.asarray(batch.target).argmax(axis=1)
    assert (np.asarray(batch.answer).sum(axis=1) == terminator - first + 1).all()
