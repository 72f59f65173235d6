import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.cycle_navigation import CycleNavigation
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import drawn

LEFT, STAY, RIGHT = 5, 6, 7  # behind the five places


def oracle(task, prompt):
    words = task.vocabulary.text(prompt.tolist()).split()
    return np.array([(words.count("right") - words.count("left")) % task.cycle])


def test_worked_examples():
    assert oracle(CycleNavigation(), np.array([RIGHT, LEFT, STAY, LEFT, LEFT])).tolist() == [3]
    assert oracle(CycleNavigation(), np.array([RIGHT] * 5)).tolist() == [0]
    assert oracle(CycleNavigation(cycle=3), np.array([3, 3])).tolist() == [1]  # two to the left


def test_steps_are_uniform():
    """Three steps, 1500 draws of two: 1000 each, standard deviation 26."""
    counts = np.bincount(drawn(CycleNavigation(), 2, 1500).prompt.ravel(), minlength=8)
    assert counts[:LEFT].sum() == 0
    assert np.abs(counts[LEFT:] - 1000).max() < 117


def test_places_are_the_same_symbols_in_prompts_vocabulary_and_target():
    one = CycleNavigation()
    assert one.vocabulary.names[:5] == one.target_vocabulary.names == ("0", "1", "2", "3", "4")


def test_its_floor_falls_to_a_fifth():
    """A third after one step; 1000 examples: standard deviation 0.015."""
    short, long = chance_levels(CycleNavigation(), (1, 30), 1000)
    assert abs(short["token_accuracy"] - 1 / 3) < 0.07
    assert abs(long["token_accuracy"] - 0.2) < 0.06


def test_a_cycle_of_one_place_is_refused():
    with pytest.raises(ValueError, match="two nodes or more, got 1"):
        CycleNavigation(cycle=1)
