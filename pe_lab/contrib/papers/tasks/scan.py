"""Translate a command in simple English into actions.

    jump twice -> I_JUMP I_JUMP
    turn opposite left -> I_TURN_LEFT I_TURN_LEFT
    look after walk right -> I_TURN_RIGHT I_WALK I_LOOK
    run around left -> I_TURN_LEFT I_RUN I_TURN_LEFT I_RUN I_TURN_LEFT I_RUN I_TURN_LEFT I_RUN

A grammar generates all 20,910 commands. The length of an example is its number of actions, and all
commands of a length are equally likely. A length without commands (37 actions, for example) is an
upper bound: the command then has the longest shorter length with commands.

A tenth of the commands of every length, chosen by a checksum of their words, is held out. Training
has the others, up to `max_train` actions. Validation has the held-out commands of all lengths. The
test has all commands above `max_train` and, below it, the held-out commands again: a model that was
selected by validation has seen all shorter commands.

Papers: Lake & Baroni 2018 (https://arxiv.org/abs/1711.00350): "SCAN", the length split, 16,990
commands of up to 22 actions in training and 3,920 of 24 to 48 in the test. Kazemnejad et al. 2023
(https://arxiv.org/abs/2305.19466): "SCAN", up to 25 actions in training (max_train=25), a tenth of
these held out for validation.

Differs: in the papers all commands are equally likely, so that most are long; here lengths are
drawn first.
"""

import functools
import itertools
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Example, Task, Vocabulary, make_example

_VERBS = ("walk", "look", "run", "jump")
_SIDES = ("left", "right")
_TIMES = {"twice": 2, "thrice": 3}
_WORDS = (*_VERBS, "turn", *_SIDES, "opposite", "around", *_TIMES, "and", "after")
_ACTIONS = [f"I_{verb.upper()}" for verb in _VERBS]
_TURNS = [f"I_TURN_{side.upper()}" for side in _SIDES]
_NAMES = (*_WORDS, *_ACTIONS, *_TURNS)
_LONGEST = 48  # actions
_NONE = 255  # padding of the tables

Command = tuple[list[str], list[str]]  # words and actions


@dataclass(frozen=True)
class Scan(Task):
    """The target is the actions of the prompt, in order.

    Args:
      max_train: the most actions of a training command.
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
        return Vocabulary.of(*_WORDS)

    @property
    def target_vocabulary(self) -> Vocabulary:
        """Words and actions: in a sequence with both, they need different symbols."""
        return Vocabulary.of(*_NAMES)

    @property
    def max_length(self) -> int | None:
        return _LONGEST

    @property
    def max_train_length(self) -> int | None:
        return self.max_train

    def prompt_bound(self, length: int) -> int:
        return _most_words()[length]

    def data(self, split: str) -> dict[str, np.ndarray]:
        return _tables(self.max_train, split)

    def sample(self, key, length, bound, data=None) -> Example:
        count = data["count"][length]
        offset = jax.random.randint(key, (), 0, count)
        row = data["first"][length] + offset
        command = data["commands"][row].astype(jnp.int32)
        actions = data["actions"][row].astype(jnp.int32)
        prompt = command[: self.prompt_bound(bound)]
        target = actions[: self.target_bound(bound)]
        return make_example(prompt, prompt != _NONE, target, target != _NONE)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(target)

    def evaluation_lengths(self, length: int) -> range:
        by_length = _commands()
        longest = max(n for n in range(1, length + 1) if by_length[n])
        return range(longest, longest + 1)


def _phrases() -> list[Command]:
    """Return the words and actions of the phrases that `and` and `after` combine."""
    verbs: dict[str, list[str]] = {}
    phrases: list[Command] = []
    for verb, action in zip(_VERBS, _ACTIONS, strict=True):
        verbs[verb] = [action]
        phrases.append(([verb], [action]))
    verbs["turn"] = []  # it has no action without a side
    for side, turn_action in zip(_SIDES, _TURNS, strict=True):
        turn = [turn_action]
        for verb, actions in verbs.items():
            phrases += [
                ([verb, side], turn + actions),
                ([verb, "opposite", side], turn * 2 + actions),
                ([verb, "around", side], (turn + actions) * 4),
            ]
    repeated_phrases: list[Command] = []
    for name, times in _TIMES.items():
        for words, actions in phrases:
            repeated_phrases.append(([*words, name], actions * times))
    return phrases + repeated_phrases


@functools.cache
def _commands() -> list[list[Command]]:
    """Return the commands of every length, in the order of a checksum of their words."""
    phrases = _phrases()
    commands = list(phrases)
    for first, second in itertools.product(phrases, phrases):
        first_words, first_actions = first
        second_words, second_actions = second
        and_words = [*first_words, "and", *second_words]
        after_words = [*first_words, "after", *second_words]
        commands.append((and_words, first_actions + second_actions))
        commands.append((after_words, second_actions + first_actions))

    by_length: list[list[Command]] = [[] for _ in range(_LONGEST + 1)]
    for words, actions in commands:
        by_length[len(actions)].append((words, actions))
    for commands in by_length:
        commands.sort(key=_checksum)
    return by_length


def _checksum(command: Command) -> int:
    words, _ = command
    return zlib.crc32(" ".join(words).encode())


@functools.cache
def _most_words() -> list[int]:
    """Return the most words of the commands up to each length."""
    most = 0
    most_words = []
    for commands in _commands():
        for words, _ in commands:
            most = max(most, len(words))
        most_words.append(most)
    return most_words


@functools.cache
def _tables(max_train: int, split: str) -> dict[str, np.ndarray]:
    """Return the commands of a split as tables.

    Returns:
      commands and actions: [C, ...], sorted by length. All splits have the same shapes, so that one
        compiled program takes all of them.
      first and count: [length], the rows that examples of this length are drawn from.
    """
    all_words: list[list[str]] = []
    all_actions: list[list[str]] = []
    first = np.zeros(_LONGEST + 1, np.int32)
    count = np.zeros(_LONGEST + 1, np.int32)
    for length in range(1, _LONGEST + 1):
        is_short = length <= max_train
        commands = _commands_of_split(_commands()[length], split, is_short)
        if commands:
            first[length] = len(all_words)
            count[length] = len(commands)
        else:
            # Fall back to the longest shorter length with commands.
            first[length] = first[length - 1]
            count[length] = count[length - 1]
        for words, actions in commands:
            all_words.append(words)
            all_actions.append(actions)
    return {
        "commands": _table(all_words, _most_words()[-1]),
        "actions": _table(all_actions, _LONGEST),
        "first": first,
        "count": count,
    }


def _commands_of_split(commands: list[Command], split: str, is_short: bool) -> list[Command]:
    """Select the commands of a split among the commands of one length."""
    num_held_out = math.ceil(len(commands) / 10)
    if split == "train":
        return commands[num_held_out:] if is_short else []
    if split == "test" and not is_short:
        return commands
    return commands[:num_held_out]


def _table(texts: Sequence[list[str]], width: int) -> np.ndarray:
    # All splits have rows for all commands, so that their shapes are equal.
    symbols = {name: symbol for symbol, name in enumerate(_NAMES)}
    num_commands = sum(map(len, _commands()))
    table = np.full((num_commands, width), _NONE, np.uint8)
    for row, text in zip(table, texts, strict=False):  # more rows than texts
        row[: len(text)] = [symbols[word] for word in text]
    return table
