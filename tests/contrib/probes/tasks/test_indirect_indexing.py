import string

import jax
import numpy as np
import pytest

from pe_lab.contrib.probes.tasks.indirect_indexing import IndirectIndexing
from tests.tasks.drawing import drawn, said

VARIANTS = [{}, dict(num_symbols=10, max_offset=3), dict(num_symbols=9, max_offset=30)]
CHANCE_LEVELS = [
    (dict(num_symbols=10), 8, "exact_match", 1 / 10, 1),
]
REFUSALS = [
    (dict(max_offset=0), r"max_offset is 1 or more, got max_offset=0\.$"),
    (dict(num_symbols=1), "got num_symbols=1"),
]
# The samples of the paper's appendix on data sets (arXiv 2509.10534): 20 to 40 different letters, a
# letter and a shift of up to 15, and the target. No generator of the authors was found.
PAPER = (
    ("TzbkWoKDyscBepYvfwxEVQtgPa", "c", "-8", "b"),
    ("NZTUIGWkXFrhCJDzscat", "N", "+4", "I"),
    ("RBEvOPgtaGDnjhbJCLScruZpMNsyWfQxXFAzUT", "x", "+2", "F"),
)


def oracle(task, prompt):
    *string, colon, named, offset = task.vocabulary.text(prompt.tolist()).split()
    assert colon == ":"
    return np.array([int(string[string.index(named) + int(offset)])])


def test_the_offset_counts_from_the_named_symbol():
    assert said(IndirectIndexing(), "7 4 0 9 2 : 0 +2") == "2"
    assert said(IndirectIndexing(), "7 4 0 9 2 : 9 -3") == "7"


@pytest.mark.parametrize(("letters", "named", "shift", "target"), PAPER)
def test_the_oracle_gives_the_targets_of_the_paper(letters, named, shift, target):
    number = string.ascii_letters.index
    text = " ".join(str(number(letter)) for letter in letters)
    task = IndirectIndexing(num_symbols=52, max_offset=15)
    assert said(task, f"{text} : {number(named)} {shift}") == str(number(target))


def test_offsets_and_symbols_are_uniform_and_every_answer_is_inside_the_string():
    """4 offsets, 1000 draws: 250 each expected, standard deviation 14; 5 symbols: 200 each, 13."""
    task = IndirectIndexing(num_symbols=5, max_offset=2)
    examples = drawn(task, 5)
    texts = [task.vocabulary.text(prompt.tolist()).split() for prompt in examples.prompt]
    offsets, counts = np.unique([int(words[-1]) for words in texts], return_counts=True)
    assert offsets.tolist() == [-2, -1, 1, 2]
    np.testing.assert_allclose(counts, 250, atol=65)
    np.testing.assert_allclose(np.bincount(examples.target[:, 0]), 200, atol=60)
    for words in texts:
        place = words.index(words[-2]) + int(words[-1])
        assert 0 <= place < 5


def test_the_named_symbol_is_uniform_among_those_with_an_answer():
    """At length 4 offset -3 has one place, and +1 three: a third of its draws each."""
    task = IndirectIndexing(num_symbols=9, max_offset=3)
    places = {-3: [], 1: []}
    for prompt in drawn(task, 4).prompt:
        words = task.vocabulary.text(prompt.tolist()).split()
        places.get(int(words[-1]), []).append(words.index(words[-2]))
    assert set(places[-3]) == {3}
    shares = np.bincount(places[1]) / len(places[1])
    np.testing.assert_allclose(shares, 1 / 3, atol=0.15)


def test_a_string_has_the_offsets_that_fit_into_it():
    task = IndirectIndexing(num_symbols=9, max_offset=3)
    words = [task.vocabulary.text(prompt.tolist()).split() for prompt in drawn(task, 2).prompt]
    assert {each[-1] for each in words} == {"-1", "+1"}


def test_attributes_are_those_of_the_written_offset():
    task = IndirectIndexing(num_symbols=9, max_offset=3)
    examples = drawn(task, 4, count=50)
    for name, of_offset in (("num_steps", abs), ("to_the_right", lambda offset: offset > 0)):
        attribute = task.attributes[name]
        values = jax.vmap(lambda example, a=attribute: a.value(task, example))(examples)
        offsets = [
            int(task.vocabulary.text(prompt.tolist()).split()[-1]) for prompt in examples.prompt
        ]
        assert values.tolist() == [of_offset(offset) for offset in offsets]
        assert values.max() == attribute.largest(task, 4)


def test_coupled_positions_do_not_tell_the_answer():
    prompt, target = drawn(IndirectIndexing(), 4, count=1).structure["coupled"]
    assert prompt[0].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert target[0].tolist() == [0]
