import itertools

import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.alternating_blocks import AlternatingBlocks
from tests.tasks.drawing import drawn

VARIANTS = [{}, dict(answer="last"), dict(blocks=5)]
CHANCE_LEVELS = [
    (dict(answer="last"), 12, "exact_match", 1 / 2, 1),
    # The last border is before the third letter in 1 of 6 strings, and before the fourth in 3.
    (dict(), 5, "token_accuracy", (1 + 1 + 5 / 6 + 1 / 2 + 1) / 5, 5),
]
REFUSALS = [(dict(blocks=2), "three blocks or more, got 2")]


def num_blocks(letters):
    return len(list(itertools.groupby(letters)))


def oracle(task, prompt):
    letters = prompt.tolist()
    assert letters[0] == 0
    lengths = range(1, len(letters) + 1) if task.answer == "every" else [len(letters)]
    names = ["yes" if num_blocks(letters[:n]) == task.blocks else "no" for n in lengths]
    return np.array([task.target_vocabulary.names.index(name) for name in names])


def published(length, borders):
    """generate_ab of pentagonalize/CRASP_depth at 057b0df, for given borders."""
    letters = ["ab"[sum(border <= i for border in borders) % 2] for i in range(length)]
    return "".join(letters), "0" * max(borders) + "1" * (length - max(borders))


def test_strings_and_answers_are_those_of_the_authors_generator():
    """1000 strings, of all C(7, 3) = 35 sets of borders: 29 each expected, deviation 5.3."""
    examples = drawn(AlternatingBlocks(blocks=4), 8)
    sets = itertools.combinations(range(1, 8), 3)
    counts = dict.fromkeys((published(8, borders) for borders in sets), 0)
    for prompt, target in zip(examples.prompt.tolist(), examples.target.tolist(), strict=True):
        letters = "".join("ab"[symbol] for symbol in prompt)
        counts[letters, "".join("--01"[symbol] for symbol in target)] += 1
    assert len(counts) == 35
    assert min(counts.values()) > 5
    assert max(counts.values()) < 58


@pytest.mark.parametrize("blocks", [3, 6])
def test_half_of_the_strings_have_two_blocks_less(blocks):
    """500 of 1000 each, standard deviation 16."""
    prompts = drawn(AlternatingBlocks(blocks=blocks, answer="last"), 9).prompt.tolist()
    numbers = [num_blocks(prompt) for prompt in prompts]
    assert set(numbers) == {blocks - 2, blocks}
    assert abs(numbers.count(blocks) - 500) < 80
