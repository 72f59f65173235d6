import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.lego import Lego
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import sampler, symbols

VARIANTS = [
    {},
    dict(permuted=True),
    dict(query="last"),
    dict(num_names=30),
    dict(num_names=6, permuted=True),
]


def oracle(task, prompt):
    clauses, query = task.vocabulary.text(prompt.tolist()).split(" ? ")
    assignments = {}
    for clause in clauses.split(" , "):
        name, _, sign, source = clause.split()
        assignments[name] = (sign, source)
    value = 1
    while query != "1":
        sign, query = assignments[query]
        value = -value if sign == "-" else value
    return np.array([task.target_vocabulary.names.index("+" if value == 1 else "-")])


def texts(task, length, count, bound=6):
    """The first of 1200 examples: one compiled program for most tests."""
    e = sampler(task, bound)(jax.random.split(jax.random.key(0), 1200), jnp.asarray(length))
    e = jax.tree.map(lambda leaf: np.asarray(leaf)[:count], e)
    return [task.vocabulary.text(p) for p in rows(e)], e


def rows(e):
    return [p[m].tolist() for p, m in zip(e.prompt, e.prompt_mask, strict=True)]


def split(text):
    clauses, query = text.split(" ? ")
    return [clause.split() for clause in clauses.split(" , ")], query


def test_worked_examples():
    task = Lego()
    for text, sign in (
        ("a = - 1 , b = - a ? b", 0),
        ("q = - t , t = + b , b = + 1 ? t", 0),
        ("z = - 1 , y = + z ? y", 1),
    ):
        assert oracle(task, np.array(symbols(task.vocabulary, text))).tolist() == [sign]


@pytest.mark.slow
def test_each_variable_is_made_of_the_one_before_under_a_name_of_its_own():
    for text in texts(Lego(), 6, 50)[0]:
        clauses, _ = split(text)
        names = [clause[0] for clause in clauses]
        assert len(set(names)) == 6
        assert [clause[3] for clause in clauses] == ["1", *names[:-1]]


@pytest.mark.slow
def test_a_variable_of_the_later_half_is_asked_for_or_the_last():
    """At length 5, variable 3 or 4 is asked for; at length 6, variable 3, 4 or 5.

    1200 draws: 600 or 400 of each, standard deviation at most 17.
    """
    for length, expected in (
        (2, {1: 1200}),
        (3, {2: 1200}),
        (5, {3: 600, 4: 600}),
        (6, {3: 400, 4: 400, 5: 400}),
    ):
        parts = [split(text) for text in texts(Lego(), length, 1200)[0]]
        asked, counts = np.unique(
            [[c[0] for c in clauses].index(query) for clauses, query in parts], return_counts=True
        )
        assert asked.tolist() == list(expected)
        assert abs(counts - list(expected.values())).max() < 80
    parts = [split(text) for text in texts(Lego(query="last"), 5, 50)[0]]
    assert all(clauses[-1][0] == query for clauses, query in parts)


@pytest.mark.slow
def test_permuted_clauses_stand_in_every_order():
    """The start of the chain has each of 4 places in 300 of 1200 draws, standard deviation 15."""
    parts = [split(text)[0] for text in texts(Lego(permuted=True), 4, 1200)[0]]
    counts = np.bincount(
        [[clause[3] for clause in clauses].index("1") for clauses in parts], minlength=4
    )
    assert abs(counts - 300).max() < 70


@pytest.mark.slow
def test_signs_are_each_as_often_and_the_floor_is_a_half():
    """800 signs: 400 expected, standard deviation 14. 1000 examples: standard deviation 0.016."""
    found = [clause[2] for text in texts(Lego(), 4, 200)[0] for clause in split(text)[0]]
    assert abs(found.count("+") - 400) < 65
    assert abs(chance_levels(Lego(), (6,), 1000)[0]["exact_match"] - 0.5) < 0.07


def test_there_are_as_many_variables_as_names():
    assert (Lego().min_length, Lego().max_length, Lego(num_names=30).max_length) == (2, 26, 30)
    assert Lego(num_names=30).vocabulary.names[-5:] == ("z", "v26", "v27", "v28", "v29")
    assert Lego().length_name == "variables"


def test_one_name_is_refused():
    with pytest.raises(ValueError, match="two names or more, got num_names=1"):
        Lego(num_names=1)
