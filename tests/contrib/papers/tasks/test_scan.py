import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.scan import Scan
from tests.tasks.drawing import symbols

VARIANTS = [{}, dict(max_train=5)]
SPLITS = ("train", "validation", "test")


def _meaning(command: str) -> list[str]:
    """Return the actions of a command by parsing it."""
    first, conjunction, second = command.partition(" and ")
    if conjunction:
        return _meaning(first) + _meaning(second)
    first, conjunction, second = command.partition(" after ")
    if conjunction:
        return _meaning(second) + _meaning(first)
    # "twice" binds closer than "and" and "after".
    for name, times in {"twice": 2, "thrice": 3}.items():
        if command.endswith(name):
            return _meaning(command.removesuffix(f" {name}")) * times
    words = command.split()
    action = [] if words[0] == "turn" else [f"I_{words[0].upper()}"]
    if len(words) == 1:
        return action
    turn = [f"I_TURN_{words[-1].upper()}"]
    if "around" in words:
        return (turn + action) * 4
    if "opposite" in words:
        return turn * 2 + action
    return turn + action


def oracle(task, prompt):
    actions = _meaning(task.vocabulary.text(prompt.tolist()))
    return np.array(symbols(task.target_vocabulary, " ".join(actions)))


def table(split, **arguments):
    """Commands with their actions, as symbols."""
    data = Scan(**arguments).data(split)
    texts = ([row[row < 255].tolist() for row in data[side]] for side in ("commands", "actions"))
    return {tuple(c): a for c, a in zip(*texts, strict=True) if c}


@functools.cache
def sampler(task):
    return jax.jit(
        jax.vmap(
            lambda key, length, data: task.sample(key, length, 48, data), in_axes=(0, None, None)
        )
    )


def drawn(length, count, split="train"):
    task = Scan()
    data, keys = (
        jax.tree.map(jnp.asarray, task.data(split)),
        jax.random.split(jax.random.key(0), count),
    )
    e = sampler(task)(keys, jnp.asarray(length), data)
    return [
        task.vocabulary.text(p[m].tolist())
        for p, m in zip(np.asarray(e.prompt), np.asarray(e.prompt_mask), strict=True)
    ], e


def said(text):
    task = Scan()
    return task.target_vocabulary.text(
        oracle(task, np.array(symbols(task.vocabulary, text))).tolist()
    )


def test_worked_examples_of_the_papers_code():
    left, right = "I_TURN_LEFT", "I_TURN_RIGHT"
    assert (
        said("jump opposite left and walk thrice") == f"{left} {left} I_JUMP I_WALK I_WALK I_WALK"
    )
    assert said("jump opposite left after walk around left") == " ".join(
        [f"{left} I_WALK"] * 4 + [f"{left} {left} I_JUMP"]
    )
    assert said("look opposite right thrice and walk left") == " ".join(
        [f"{right} {right} I_LOOK"] * 3 + [f"{left} I_WALK"]
    )
    assert said("turn left twice") == f"{left} {left}"


@pytest.mark.slow
def test_all_commands_are_there_and_the_length_split_is_the_papers():
    """20,910; 16,990 of up to 22 actions, 3,920 longer: Lake & Baroni 2018."""
    known = table("train") | table("test")
    assert len(known) == 20910
    assert sum(len(actions) <= 22 for actions in known.values()) == 16990
    assert all(
        oracle(Scan(), np.array(c)).tolist() == a
        for c, a in itertools.islice(known.items(), 0, None, 40)
    )


@pytest.mark.full
def test_splits_share_nothing_but_held_out_commands():
    train, validation, test = map(table, SPLITS)
    assert not train.keys() & (validation.keys() | test.keys())
    assert {c for c, a in validation.items() if len(a) <= 22} == {
        c for c, a in test.items() if len(a) <= 22
    }
    assert all(len(a) <= 22 for a in train.values())
    assert validation.keys() < test.keys()
    assert (len(train), len(validation), len(test)) == (15282, 2104, 5628)


def test_a_tenth_of_every_length_is_held_out_at_least_one():
    count = Scan().data("validation")["count"]
    assert count[[1, 2, 3, 22, 48]].tolist() == [1, 9, 40, 58, 13]  # of 6, 88, 398, 576, 128


def test_longer_training_moves_the_split():
    assert max(map(len, table("train", max_train=25).values())) == 25
    assert len(table("test", max_train=25)) == 20910 - 16990 - 336 - 448 + 1708 + 34 + 45


def test_all_splits_have_one_shape():
    shapes = [jax.tree.map(np.shape, Scan().data(split)) for split in SPLITS]
    assert shapes[0] == shapes[1] == shapes[2]
    assert shapes[0]["actions"] == (20910, 48)


def test_commands_of_a_length_come_equally_often():
    """Training has 5 of 6 commands of one action: 200 of 1000 each, standard deviation 13."""
    found, counts = np.unique(drawn(1, 1000)[0], return_counts=True)
    assert set(found) < {"walk", "look", "run", "jump", "turn left", "turn right"}
    assert len(found) == 5
    assert abs(counts - 200).max() < 60


def test_a_length_without_commands_draws_those_of_the_next_shorter():
    for split, length, shorter in (
        ("train", 40, 22),
        ("test", 37, 36),
        ("test", 23, 22),
        ("validation", 47, 40),
    ):
        texts, e = drawn(length, 20, split)
        assert (np.asarray(e.target_mask).sum(axis=1) == shorter).all()
        assert texts == drawn(shorter, 20, split)[0]


def test_bounds_are_those_of_the_longest_command():
    assert [Scan().prompt_bound(n) for n in (1, 2, 3, 9, 48)] == [2, 5, 6, 9, 9]
    assert (Scan().min_length, Scan().max_length, Scan().length_name) == (1, 48, "actions")


def test_a_split_without_training_or_test_is_refused():
    with pytest.raises(ValueError, match="max_train from 1 to 47, got 0"):
        Scan(max_train=0)
    with pytest.raises(ValueError, match="got 48"):
        Scan(max_train=48)
    assert (Scan(max_train=1).max_train, Scan(max_train=47).max_train) == (1, 47)
