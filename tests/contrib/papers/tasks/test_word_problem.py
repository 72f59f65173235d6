import itertools

import numpy as np
import pytest

from pe_lab.contrib.papers.tasks import _groups
from pe_lab.contrib.papers.tasks.word_problem import WordProblem
from tests.tasks.drawing import drawn

QUATERNIONS = ((1, 2, 3, 0, 5, 6, 7, 4), (4, 7, 6, 5, 2, 1, 0, 3))  # i and j, by their products
VARIANTS = [
    {},
    dict(group="A5", answer="last"),
    dict(group="Z12"),
    dict(generators=((1, 0, 2), (1, 2, 0)), symbols="generators"),
]
CHANCE_LEVELS = [
    (dict(answer="last"), 12, "exact_match", 1 / 6, 1),
    (dict(group="A5", answer="last"), 12, "exact_match", 1 / 60, 1),
    (dict(group="Z60"), 6, "token_accuracy", 1 / 60, 6),
]
REFUSALS = [
    (dict(group="M11"), "S, A or Z with a number, or a product .* got 'M11'"),
    (dict(group="S7"), "at most 720 elements"),
    (dict(group="A5xA5"), "at most 720 elements"),
    (dict(group="Z1"), "a group of two elements or more"),
    (dict(generators=((0, 1), (1, 1))), r"permutations of the same points .* got \(1, 1\)"),
    (
        dict(group="A5", generators=((1, 0, 2), (1, 2, 0))),
        r"takes a group or generators, got group='A5' and generators=\(\(1, 0, 2\), ",
    ),
    (dict(symbols="generators"), r"two generators or more to draw from, got \(\)"),
]


def oracle(task, prompt):
    """By the names of the elements: a product of permutations, or a sum of numbers."""
    names = task.vocabulary.names
    words = [names[symbol] for symbol in prompt]
    if len(names) == 12:
        products = [str(sum(map(int, words[: i + 1])) % 12) for i in range(len(words))]
    elif len(names) == 60 and names[1] == "1":
        products = [str(sum(map(int, words[: i + 1])) % 60) for i in range(len(words))]
    else:
        products = list(itertools.accumulate(words, lambda p, q: "".join(p[int(i)] for i in q)))
    if task.answer == "last":
        products = products[-1:]
    return np.array([names.index(name) for name in products])


def is_even(permutation):
    """A permutation is even if its points minus its cycles are."""
    left, cycles = set(permutation), 0
    while left:
        point, cycles = min(left), cycles + 1
        while point in left:
            left.remove(point)
            point = permutation[point]
    return (len(permutation) - cycles) % 2 == 0


def compose(p, q):
    return tuple(p[i] for i in q)


def independent(group):
    """All elements in the order of jopetty/word-problem, and the product of two."""
    symmetric = list(itertools.permutations(range(5)))
    even = list(filter(is_even, itertools.permutations(range(4))))
    return {
        "S3": (list(itertools.permutations(range(3))), compose),
        "S5": (symmetric, compose),
        "A5": (list(filter(is_even, symmetric)), compose),
        "Z60": (list(range(60)), lambda p, q: (p + q) % 60),
        "A4xZ5": (
            list(itertools.product(even, range(5))),
            lambda p, q: (compose(p[0], q[0]), (p[1] + q[1]) % 5),
        ),
    }[group]


@pytest.mark.parametrize("group", ["S3", "S5", "A5", "Z60", "A4xZ5"])
def test_1000_strings_have_the_products_of_an_independent_implementation(group):
    elements, multiply = independent(group)
    examples = drawn(WordProblem(group=group), 8)
    for string, target in zip(examples.prompt.tolist(), examples.target.tolist(), strict=True):
        products = list(itertools.accumulate((elements[i] for i in string), multiply))
        assert target == [elements.index(p) for p in products]


def derived(table):
    """The elements of the group that the commutators generate."""
    inverse = table.argmin(axis=1)  # the identity is number 0
    numbers = np.arange(len(table))
    products = table[numbers[:, None], numbers]
    inverses = table[inverse[:, None], inverse]
    members = set(table[products, inverses].ravel().tolist())
    while True:
        more = members | {int(table[p, q]) for p in members for q in members}
        if more == members:
            return sorted(members)
        members = more


@pytest.mark.parametrize(
    ("group", "order", "commutes", "derived_order"),
    [
        ("S3", 6, False, 3),
        ("S5", 120, False, 60),
        ("A5", 60, False, 60),
        ("Z60", 60, True, 1),
        ("A4xZ5", 60, False, 4),
        (QUATERNIONS, 8, False, 2),
    ],
    ids=str,
)
def test_a_table_is_that_of_a_group(group, order, commutes, derived_order):
    """Closed, with identity and inverses, associative; A5 is its own derived group."""
    build = _groups.named if isinstance(group, str) else _groups.generated
    table = build(group).table
    numbers = np.arange(order)
    assert table.shape == (order, order)
    assert (np.sort(table, axis=1) == numbers).all()
    assert (np.sort(table, axis=0) == numbers[:, None]).all()
    assert (table[0] == numbers).all()
    assert (table[:, 0] == numbers).all()
    assert ((table == 0) == (table == 0).T).all()
    assert (table[table] == table[numbers[:, None, None], table]).all()
    assert (table == table.T).all() == commutes
    assert len(derived(table)) == derived_order


def test_generators_give_the_group_of_that_name():
    transposition, cycle = (1, 0, 2, 3, 4), (1, 2, 3, 4, 0)
    group = _groups.generated((transposition, cycle))
    assert group.elements == _groups.named("S5").elements
    assert (group.table == _groups.named("S5").table).all()


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (dict(), {"012", "021", "102", "120", "201", "210"}),
        (VARIANTS[3], {"102", "120"}),
    ],
)
def test_symbols_are_uniform(arguments, names):
    """8000 symbols, standard deviation at most 45."""
    task = WordProblem(**arguments)
    counts = np.bincount(drawn(task, 8).prompt.ravel(), minlength=6)
    is_drawn = [name in names for name in task.vocabulary.names]
    np.testing.assert_allclose(counts, np.where(is_drawn, 8000 / len(names), 0), atol=200)
