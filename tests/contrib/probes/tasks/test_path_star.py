import itertools

import jax
import numpy as np
import pytest

from pe_lab.contrib.probes.tasks.path_star import PathStar
from tests.tasks.drawing import drawn, said

VARIANTS = [{}, dict(num_arms=2, num_nodes=9, turned=False), dict(num_arms=7, num_nodes=50)]
CHANCE_LEVELS = [
    (dict(num_nodes=10), 3, "token_accuracy", 1 / 10, 3),  # three nodes
]
REFUSALS = [
    (dict(num_arms=1), "got num_arms=1 and num_nodes=100"),
    (dict(num_nodes=3), "got num_arms=3 and num_nodes=3"),
]
# Two examples of x-transformers at 80b6acd, train_path_star.py:
# PathStarDataset(2, 3, 3, 20, seed=7), with "-" for its token of an edge, ":" for that of the
# start, and none for that of the end. Then the first lines of two files of the task's origin
# (gregorbachmann/Next-Token-Failures at b925a1e, data/datasets/graphs):
# deg_2_path_5_nodes_50_test_20000.txt and deg_5_path_3_nodes_50_test_20000.txt, whose edges are not
# turned round. No seed of theirs is given.
GENERATED = (
    (3, "- 4 12 - 1 2 - 10 13 - 13 8 - 10 1 - 4 10 : 10 12", "10 4 12"),
    (3, "- 17 12 - 18 7 - 0 3 - 12 7 - 18 1 - 3 7 : 7 1", "7 18 1"),
    (
        2,
        "- 32 3 - 16 12 - 3 19 - 32 34 - 34 6 - 6 16 - 19 47 - 47 28 : 32 12",
        "32 34 6 16 12",
    ),
    (
        5,
        "- 9 32 - 4 46 - 25 37 - 10 25 - 0 43 - 10 9 - 10 7 - 10 0 - 10 4 - 7 48 : 10 32",
        "10 9 32",
    ),
)


def oracle(task, prompt):
    """Walk from the end to the center: every node but the center has one way on."""
    words = task.vocabulary.text(prompt.tolist())
    edges, question = words.split(" : ")
    center, node = question.split()
    neighbors = {}
    for edge in edges.removeprefix("- ").split(" - "):
        first, second = edge.split()
        neighbors.setdefault(first, []).append(second)
        neighbors.setdefault(second, []).append(first)
    path, previous = [node], None
    while node != center:
        (following,) = [other for other in neighbors[node] if other != previous]
        previous, node = node, following
        path.append(node)
    return np.array([int(name) for name in reversed(path)])


@pytest.mark.parametrize(("num_arms", "prompt", "target"), GENERATED)
def test_the_oracle_finds_the_paths_of_other_generators(num_arms, prompt, target):
    task = PathStar(num_arms=num_arms, num_nodes=50)
    assert said(task, prompt) == target
    path_length = len(target.split())
    assert task.prompt_bound(path_length) == len(prompt.split())


def test_no_node_comes_twice_and_arms_start_at_the_center():
    task = PathStar()
    for prompt in drawn(task, 4, count=50).prompt.tolist():
        edges = np.reshape(prompt[:-3], (9, 3))
        assert (edges[:, 0] == 100).all()
        nodes, counts = np.unique(edges[:, 1:], return_counts=True)
        # The center has 3 edges; of each arm two nodes have 2 edges, and the end has one.
        assert sorted(counts.tolist()) == [1] * 3 + [2] * 6 + [3]
        assert nodes[counts.argmax()] == prompt[-2]


def test_half_of_the_edges_are_turned_round_and_the_arm_is_uniform():
    """2000 edges of paths, 1000 turned expected, standard deviation 22; 6 places of the first edge,
    of 1000 draws 167 each expected, standard deviation 12."""
    task = PathStar()
    examples = drawn(task, 3)
    turned = jax.vmap(lambda e: task.attributes["num_turned"].value(task, e))(examples)
    assert abs(turned.sum() - 1000) < 110
    first = jax.vmap(lambda e: task.attributes["first_edge"].value(task, e))(examples)
    np.testing.assert_allclose(np.bincount(first, minlength=6), 1000 / 6, atol=60)
    straight = PathStar(turned=False)
    examples = drawn(straight, 3, count=50)
    turned = jax.vmap(lambda e: task.attributes["num_turned"].value(task, e))(examples)
    assert (np.asarray(turned) == 0).all()


def test_attributes_are_those_of_the_written_edges():
    task = PathStar(num_arms=2, num_nodes=9)
    for i in range(20):
        example = jax.tree.map(lambda leaf, i=i: leaf[i], drawn(task, 4, count=20))
        edges = [tuple(edge) for edge in np.reshape(example.prompt[:-3], (-1, 3))[:, 1:].tolist()]
        path = example.target.tolist()
        steps = list(itertools.pairwise(path))
        first = [set(edge) == set(steps[0]) for edge in edges].index(True)
        num_turned = sum((end, start) in edges for start, end in steps)
        assert task.attributes["first_edge"].value(task, example) == first
        assert task.attributes["num_turned"].value(task, example) == num_turned


def test_a_star_has_no_more_nodes_than_there_are():
    assert (PathStar().max_length, PathStar(num_arms=7).max_length) == (34, 15)
    assert PathStar(num_arms=2, num_nodes=3).max_length == 2
