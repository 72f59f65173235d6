"""Each attribute of a task equals a slow computation in plain Python, and stays in its bound."""

import functools
import itertools

import jax
import numpy as np
import pytest

from pe_lab.runs.plugins import plugins
from pe_lab.tasks.base import Example
from tests.tasks.cases import file_of
from tests.tasks.drawing import BATCH, sample


def tokens(example):
    """Prompt and target without padding."""
    prompt = example.prompt[example.prompt_mask].tolist()
    return prompt, example.target[example.target_mask].tolist()


def longest_run(flags):
    return max((len(list(run)) for flag, run in itertools.groupby(flags) if flag), default=0)


def num_ones(task, example):
    return tokens(example)[0].count(1)


def num_counted(task, example):
    prompt, _ = tokens(example)
    return prompt[1:].count(prompt[0]) if task.told else prompt.count(1)


def num_repeated(task, example):
    prompt, _ = tokens(example)
    return sum(symbol in prompt[:index] for index, symbol in enumerate(prompt))


def longest_repeat(task, example):
    prompt, _ = tokens(example)
    places = range(len(prompt))
    return max(
        size
        for size in range(len(prompt))
        for first, second in itertools.combinations_with_replacement(places, 2)
        if size == 0
        or (
            first < second <= len(prompt) - size
            and prompt[first : first + size] == prompt[second : second + size]
        )
    )


def carries(task, example):
    """Whether digit 0, 1, ... of the sum has a carry, from the operands as they are written."""
    prompt, _ = tokens(example)
    operands = task.operands_of(np.array(prompt), "+")
    if not task.reverse_operands:
        operands = [operand[::-1] for operand in operands]
    carry, flags = 0, []
    for place in range(max(map(len, operands))):
        digits = [int(operand[place]) for operand in operands if place < len(operand)]
        carry = (sum(digits) + carry) // task.base
        flags.append(carry > 0)
    while carry >= task.base:
        carry //= task.base
        flags.append(carry > 0)
    return flags


def num_carries(task, example):
    return sum(carries(task, example))


def longest_carry_chain(task, example):
    return longest_run(carries(task, example))


def recall_distance(task, example):
    """Each value of the target, back to the last entry of the prompt with its key."""
    prompt, target = tokens(example)
    width = 3 if task.variant == "compositional" else 2
    distances = []
    for index in range(width - 1, len(target), width):
        if not example.answer_mask[index]:
            continue
        key = target[index - width + 1 : index]
        starts = range(0, len(prompt), width)
        last = max(start for start in starts if prompt[start : start + width - 1] == key)
        distances.append(len(prompt) + index - (last + width - 1))
    return max(distances)


def copy_distance(task, example):
    prompt, _ = tokens(example)
    places = [place for place, symbol in enumerate(prompt) if symbol != task.num_symbols]
    return max(len(prompt) + index - place for index, place in enumerate(places))


def longest_gap(task, example):
    return longest_run(symbol == task.num_symbols for symbol in tokens(example)[0])


def entry(task, example):
    prompt, _ = tokens(example)
    return prompt.index(prompt[-1]) // (1 + task.num_digits)


def number_distance(task, example):
    prompt, _ = tokens(example)
    return len(prompt) - (prompt.index(prompt[-1]) + 1)


def hidden_bit(task, example):
    prompt, _ = tokens(example)
    return prompt.index(2) if 2 in prompt else 0


def read_distance(task, example):
    prompt, target = tokens(example)
    distances, since_write = [], 0
    for instruction in (prompt + target)[::2]:
        since_write = 0 if instruction == 2 else since_write + 1
        if instruction == 3:
            distances.append(since_write)
    return max(distances)


def strings_of(task, symbols):
    """The strings of keys and values, as (is_key, index of the first symbol, symbols)."""
    kinds = [
        0 if s < task.num_keys else 1 + (s >= task.num_keys + task.num_values) for s in symbols
    ]
    strings = []
    for kind, group in itertools.groupby(range(len(symbols)), key=kinds.__getitem__):
        places = list(group)
        if kind < 2:  # no noise
            strings.append((kind == 0, places[0], tuple(symbols[place] for place in places)))
    return strings


def in_context_distance(task, example):
    """Each value of the target, back to the last entry of the prompt with its key."""
    prompt, target = tokens(example)
    strings = strings_of(task, prompt)
    place_of = {
        key: place for (_, _, key), (_, place, _) in zip(strings[::2], strings[1::2], strict=True)
    }
    asked = strings_of(task, target)
    return max(
        len(prompt) + place - place_of[key]
        for (_, _, key), (_, place, _) in zip(asked[::2], asked[1::2], strict=True)
    )


CARRIES = {"num_carries": num_carries, "longest_carry_chain": longest_carry_chain}
ORACLES = {
    "parity": {"num_ones": num_ones},
    "majority": {"num_ones": num_ones},
    "count": {"num_counted": num_counted},
    "copy": {"num_repeated": num_repeated, "longest_repeat": longest_repeat},
    "reverse": {"num_repeated": num_repeated},
    "addition": CARRIES,
    "associative_recall": {"longest_distance": recall_distance},
    "selective_copy": {"longest_distance": copy_distance, "longest_gap": longest_gap},
    "phone_book": {"needle": entry, "longest_distance": number_distance},
    "missing_duplicate": {"needle": hidden_bit},
    "flip_flop": {"longest_distance": read_distance},
    "in_context_recall": {"longest_distance": in_context_distance},
}
ARGUMENTS = [
    dict(name="parity"),
    dict(name="majority"),
    dict(name="majority", num_symbols=4),
    dict(name="count", num_symbols=3),
    dict(name="count", told=True),
    dict(name="copy", num_symbols=2, distinct=False),
    dict(name="copy", num_symbols=3, distinct=False),
    dict(name="copy", num_symbols=9),
    dict(name="reverse", num_symbols=4),
    dict(name="addition"),
    dict(name="addition", base=2, padding="none", reverse_operands=True),
    dict(name="addition", operands=4, min_operands=2, padding="answer", scratchpad=True),
    dict(name="addition", interleaved=True, hints=9),
    dict(name="addition", base=2, padding="none", blanks=0.4),
    dict(name="associative_recall", num_symbols=40, slots_per_pair=2),
    dict(name="associative_recall", num_symbols=60, variant="forgetting", slots_per_pair=1),
    dict(name="associative_recall", num_symbols=60, variant="compositional", num_slots=9),
    dict(name="selective_copy", num_symbols=4, num_content=3),
    dict(name="phone_book", num_names=20, num_digits=3),
    dict(name="missing_duplicate"),
    dict(name="flip_flop"),
    dict(name="flip_flop", p_ignore=0.3),
    dict(name="in_context_recall", noise=0.3),
    dict(name="in_context_recall", longest_key=2, longest_value=2, num_keys=4),
    dict(name="in_context_recall", longest_value=3, max_questions=1),
]
# Tasks whose own test files compute their attributes.
OWN = (
    "indirect_indexing",
    "item_after_separator",
    "multi_hop",
    "needle",
    "path_star",
)
BOUND = 8


def computed(arguments):
    """A task, examples of lengths up to BOUND, and the values of its attributes."""
    task = plugins.build("tasks", plugins.resolve("tasks", arguments))
    lengths = np.arange(BATCH) % (BOUND - task.min_length + 1) + task.min_length
    examples = sample(task, jax.random.split(jax.random.key(3), BATCH), lengths, BOUND)
    values = {}
    for name, attribute in task.attributes.items():
        function = jax.vmap(functools.partial(attribute.value, task))
        values[name] = np.asarray(jax.jit(function)(examples)).tolist()
    return task, examples, values


@functools.cache
def values_of(number):
    """The attributes of examples of lengths up to BOUND, computed and by the oracles."""
    task, examples, values_by_name = computed(ARGUMENTS[number])
    oracles = ORACLES[ARGUMENTS[number]["name"]]
    assert oracles.keys() == task.attributes.keys()
    pairs = {}
    for name, values in values_by_name.items():
        rows = [jax.tree.map(lambda leaf, i=i: leaf[i], examples) for i in range(BATCH)]
        pairs[name] = values, [oracles[name](task, row) for row in rows]
    return task, pairs


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(ARGUMENTS)), ids=lambda n: ARGUMENTS[n]["name"])
def test_attributes_equal_their_oracle(number):
    _, pairs = values_of(number)
    for values, expected in pairs.values():
        assert values == expected


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(ARGUMENTS)), ids=lambda n: ARGUMENTS[n]["name"])
def test_attributes_stay_in_their_bound(number):
    task, pairs = values_of(number)
    for name, (values, _) in pairs.items():
        assert 0 <= min(values) <= max(values) <= task.attributes[name].largest(task, BOUND)


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_attributes_of_other_files_stay_in_their_bound(name):
    task, _, values_by_name = computed(dict(name=name))
    for attribute, values in values_by_name.items():
        assert 0 <= min(values) <= max(values) <= task.attributes[attribute].largest(task, BOUND)


def test_every_task_with_attributes_has_oracles():
    with_attributes = {
        name for name in plugins.names("tasks") if plugins.find("tasks", name).attributes
    }
    assert ORACLES.keys() == {arguments["name"] for arguments in ARGUMENTS}
    assert with_attributes == ORACLES.keys() | set(OWN)
    for name in OWN:
        assert "task.attributes" in file_of(name).read_text()


@pytest.mark.parametrize(
    ("prompt", "num_carries", "longest_chain"),
    [("095+007", 2, 2), ("050+050", 1, 1), ("012+034", 0, 0), ("505+505", 2, 1)],
)
def test_carries_by_hand(prompt, num_carries, longest_chain):
    task, _ = values_of(ARGUMENTS.index(dict(name="addition")))
    symbols = [task.vocabulary.names.index(character) for character in prompt]
    grid = [[1, 3], [1, 2], [1, 1], [0, 0], [2, 3], [2, 2], [2, 1]]
    target, every = np.zeros(4, int), np.ones(7, bool)
    example = Example(
        prompt=np.array(symbols),
        prompt_mask=every,
        target=target,
        target_mask=every[:4],
        answer_mask=every[:4],
        alignment=target - 1,
        structure={"grid": (np.array(grid), np.zeros((4, 2), int))},
    )
    values = [int(attribute.value(task, example)) for attribute in task.attributes.values()]
    assert values == [num_carries, longest_chain]
