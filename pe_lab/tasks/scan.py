"""The actions that a command in simple English asks for.

    jump twice -> I_JUMP I_JUMP
    turn opposite left -> I_TURN_LEFT I_TURN_LEFT
    look after walk right -> I_TURN_RIGHT I_WALK I_LOOK
    run around left -> I_TURN_LEFT I_RUN I_TURN_LEFT I_RUN I_TURN_LEFT I_RUN I_TURN_LEFT I_RUN

A grammar makes all 20,910 commands. The length of an example is that of its actions; a command is
drawn among those of that length, each as often. A length without commands (37 actions, say; in
training, all beyond `max_train`) is an upper bound: a command is drawn among those of the longest
shorter length that has some.

A tenth of the commands of every length, chosen by a checksum of their words, is held out. Training
draws the others, up to `max_train` actions. Validation draws what is held out, beyond `max_train`
as well. The test draws all commands beyond `max_train`, and below it the held-out ones once more:
no shorter command is new to a model that was chosen by them.

Papers: Lake & Baroni 2018 (https://arxiv.org/abs/1711.00350): "SCAN", the length split, 16,990
commands of up to 22 actions in training and 3,920 of 24 to 48 in the test. Kazemnejad et al. 2023
(https://arxiv.org/abs/2305.19466): "SCAN", up to 25 actions in training (max_train=25), a tenth of
these held out for validation.

Differs: the papers draw every command as often, so that most are long; here lengths are drawn
first.
"""

import functools
import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Example, Task, Vocabulary

_VERBS, _SIDES, _TIMES = ("walk", "look", "run", "jump"), ("left", "right"), ("twice", "thrice")
_WORDS = (*_VERBS, "turn", *_SIDES, "opposite", "around", *_TIMES, "and", "after")
_ACTIONS = (
    *(f"I_{verb.upper()}" for verb in _VERBS),
    *(f"I_TURN_{side.upper()}" for side in _SIDES),
)
_NAMES = (*_WORDS, *_ACTIONS)
_LONGEST = 48  # actions
_NONE = 255  # behind the end, in the tables


@dataclass(frozen=True)
class Scan(Task):
    """The target is the actions of the prompt, in their order.

    Args:
      max_train: actions of the longest commands of training.
    """

    max_train: int = 22

    length_name = "actions"

    def __post_init__(self):
        if not 1 <= self.max_train < _LONGEST:
            raise ValueError(
                f"Scan needs max_train from 1 to {_LONGEST - 1}, got {self.max_train}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(len(_WORDS), _WORDS)

    @property
    def target_vocabulary(self) -> Vocabulary:
        """Words as well, so that in one stream a word and an action are never one symbol."""
        return Vocabulary(len(_NAMES), _NAMES)

    @property
    def max_length(self) -> int | None:
        return _LONGEST

    def prompt_bound(self, length: int) -> int:
        return _most_words()[length]

    def data(self, split: str) -> Any:
        return _tables(self.max_train, split)

    def sample(self, key, length, bound, data=None) -> Example:
        row = data["first"][length] + jax.random.randint(key, (), 0, data["count"][length])
        prompt, target = (data[side][row].astype(jnp.int32) for side in ("commands", "actions"))
        prompt, target = prompt[: self.prompt_bound(bound)], target[: self.target_bound(bound)]
        prompt_mask, mask = prompt != _NONE, target != _NONE
        prompt, target = jnp.where(prompt_mask, prompt, 0), jnp.where(mask, target, 0)
        return Example(prompt, prompt_mask, target, mask, mask, jnp.full(len(target), -1))

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(target)

    def evaluation_lengths(self, length: int) -> range:
        longest = max(n for n in range(1, length + 1) if _commands()[n])
        return range(longest, longest + 1)

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        return np.array(
            self.target_vocabulary.symbols(
                " ".join(_meaning(self.vocabulary.text(prompt.tolist())))
            )
        )


def _phrases() -> list[tuple[list[str], list[str]]]:
    """Words and actions of what `and` and `after` combine."""
    found = [([verb], [f"I_{verb.upper()}"]) for verb in _VERBS]
    for side in _SIDES:
        turn = [f"I_TURN_{side.upper()}"]
        for verb in (*_VERBS, "turn"):
            act = [] if verb == "turn" else [f"I_{verb.upper()}"]
            found += [
                ([verb, side], turn + act),
                ([verb, "opposite", side], turn * 2 + act),
                ([verb, "around", side], (turn + act) * 4),
            ]
    again = [
        ([*words, times], actions * n)
        for n, times in enumerate(_TIMES, 2)
        for words, actions in found
    ]
    return found + again


@functools.cache
def _commands() -> list[list[tuple[list[str], list[str]]]]:
    """Of every length up to the longest the words and actions of its commands, in the order of a
    checksum of their words.
    """
    phrases = _phrases()
    pairs = [(one, other) for one in phrases for other in phrases]
    both = [(one[0] + ["and"] + other[0], one[1] + other[1]) for one, other in pairs]
    after = [(one[0] + ["after"] + other[0], other[1] + one[1]) for one, other in pairs]
    found: list[list[tuple[list[str], list[str]]]] = [[] for _ in range(_LONGEST + 1)]
    for words, actions in phrases + both + after:
        found[len(actions)].append((words, actions))
    return [
        sorted(of_length, key=lambda command: zlib.crc32(" ".join(command[0]).encode()))
        for of_length in found
    ]


@functools.cache
def _most_words() -> list[int]:
    """Of the commands up to each length."""
    return list(
        itertools.accumulate(
            (max((len(words) for words, _ in found), default=0) for found in _commands()), max
        )
    )


@functools.cache
def _tables(max_train: int, split: str) -> dict[str, np.ndarray]:
    """A split's commands and actions by length; for every length, where those it draws from start,
    and how many there are.

    All splits have as many rows, so that a program that was compiled for one takes the others.
    """
    rows: list[tuple[list[str], list[str]]] = []
    first, count = np.zeros((2, _LONGEST + 1), np.int32)
    for length, found in enumerate(_commands()[1:], 1):
        taken = _taken(found, split, length <= max_train)
        first[length], count[length] = (
            (len(rows), len(taken)) if taken else (first[length - 1], count[length - 1])
        )
        rows += taken
    commands, actions = zip(*rows, strict=True)
    return {
        "commands": _table(commands, _most_words()[-1]),
        "actions": _table(actions, _LONGEST),
        "first": first,
        "count": count,
    }


def _taken(
    found: list[tuple[list[str], list[str]]], split: str, is_short: bool
) -> list[tuple[list[str], list[str]]]:
    """Of the commands of a length those of a split."""
    held_out = -(-len(found) // 10)
    if split == "train":
        return found[held_out:] if is_short else []
    return found if split == "test" and not is_short else found[:held_out]


def _table(texts: Sequence[list[str]], width: int) -> np.ndarray:
    table, numbers = (
        np.full((sum(map(len, _commands())), width), _NONE, np.uint8),
        {name: i for i, name in enumerate(_NAMES)},
    )
    for row, text in zip(table, texts, strict=False):
        row[: len(text)] = [numbers[word] for word in text]
    return table


def _meaning(command: str) -> list[str]:
    """The actions of a command, by taking it apart."""
    one, joint, other = command.partition(" and ")
    if joint:
        return _meaning(one) + _meaning(other)
    one, joint, other = command.partition(" after ")
    if joint:
        return _meaning(other) + _meaning(one)
    for n, times in enumerate(_TIMES, 2):
        if command.endswith(times):
            return _meaning(command.removesuffix(f" {times}")) * n
    words = command.split()
    act = [] if words[0] == "turn" else [f"I_{words[0].upper()}"]
    if len(words) == 1:
        return act
    turn = [f"I_TURN_{words[-1].upper()}"]
    return (turn + act) * 4 if "around" in words else turn * (1 + ("opposite" in words)) + act
