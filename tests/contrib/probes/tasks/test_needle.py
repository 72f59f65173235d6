import jax
import numpy as np
import pytest

from pe_lab.contrib.probes.tasks.needle import Needle
from tests.tasks.drawing import drawn, said

VARIANTS = [
    {},
    dict(num_keys=4, num_values=3, num_noise=1, num_needles=3),
    dict(num_needles=2, depth=30),
    dict(num_keys=5, num_values=4, num_needles=3, values_per_key=2, num_queries=2),
]
CHANCE_LEVELS = [
    (dict(num_values=8), 12, "exact_match", 1 / 8, 1),
    (
        dict(num_values=8, num_needles=2, values_per_key=2, num_queries=2),
        14,
        "token_accuracy",
        1 / 8,
        4,
    ),
]
REFUSALS = [
    (dict(num_values=1), "got num_keys=64, num_values=1 and num_noise=64"),
    (dict(num_needles=65), "each of its 64 keys, got num_needles=65"),
    (dict(num_queries=2), "one key to all 1, got values_per_key=1 and num_queries=2"),
    (dict(values_per_key=0), "one value of a key or more"),
    (dict(values_per_key=2, depth=50), "depth needs values_per_key=1"),
    (dict(depth=101), r"from 0 to 100 percent, got 101\.$"),
]
# An example of the first author's generator (hsiehjackson/RULER at e40fae1, niah.py) with three
# keys and the repeated text 6 times: its numbers are named in the order of the needles. Then the
# first generate_input_output(6) of NVIDIA/RULER at c3f5e3b, niah.py, with --random_seed=42
# --type_haystack=noise --num_needle_k=4 and the words of wonderwords 3.0.1.
GENERATED = (
    (3, "k0 v0 n0 k1 v1 n0 n0 n0 n0 k2 v2 n0 k1", "v1"),
    (4, "k0 v0 n0 n0 k1 v1 n0 n0 k2 v2 n0 k3 v3 n0 k1", "v1"),
)


def oracle(task, prompt):
    words = task.vocabulary.text(prompt.tolist()).split()
    haystack, queries = words[: -task.num_queries], words[-task.num_queries :]
    values = []
    for query in queries:
        places = [i for i, word in enumerate(haystack) if word == query]
        assert len(places) == task.values_per_key
        values += [haystack[place + 1] for place in places]
    return np.array([task.vocabulary.names.index(value) for value in values])


def depths_of(task, prompts):
    """The number of tokens of noise in front of each needle, the one of the question first."""
    depths = []
    for prompt in prompts:
        *haystack, query = task.vocabulary.text(prompt.tolist()).split()
        needles = {}
        for i, name in enumerate(haystack):
            if name.startswith("k"):
                needles[name] = sum(each.startswith("n") for each in haystack[:i])
        depths.append([needles.pop(query), *needles.values()])
    return np.array(depths)


@pytest.mark.parametrize(("num_needles", "prompt", "target"), GENERATED)
def test_the_oracle_finds_the_needle_of_the_authors_generator(num_needles, prompt, target):
    task = Needle(num_noise=1, num_needles=num_needles)
    assert said(task, prompt) == target


def test_needles_are_in_front_of_different_tokens_of_noise():
    """3 needles in front of 4 tokens; the answer's is at each with 250 of 1000, deviation 14."""
    task = Needle(num_needles=3, num_keys=5)
    depths = depths_of(task, drawn(task, 10).prompt)
    assert (np.diff(np.sort(depths, axis=1), axis=1) > 0).all()
    np.testing.assert_allclose(np.bincount(depths[:, 0], minlength=4), 250, atol=65)
    np.testing.assert_allclose(np.bincount(depths[:, 1:].ravel(), minlength=4), 500, atol=90)


@pytest.mark.parametrize(("percent", "place"), [(0, 0), (50, 5), (94, 9), (96, 10), (100, 10)])
def test_a_fixed_depth_is_the_share_of_the_noise_in_front(percent, place):
    task = Needle(depth=percent)
    assert depths_of(task, drawn(task, 13, count=5).prompt).tolist() == [[place]] * 5


def test_the_attribute_is_the_depth_in_tenths():
    task = Needle(num_needles=2)
    examples = drawn(task, 9, count=100)
    tenths = jax.vmap(lambda e: task.attributes["depth"].value(task, e))(examples)
    expected = depths_of(task, examples.prompt)[:, 0] * 10 // 5
    np.testing.assert_array_equal(tenths, expected)
    assert set(expected.tolist()) == {0, 2, 4, 6, 8}


def test_values_are_uniform():
    """4 values, 1000 draws: 250 each expected, standard deviation 14."""
    targets = drawn(Needle(num_values=4), 9).target[:, 0]
    np.testing.assert_allclose(np.bincount(targets, minlength=4), 250, atol=65)


def test_coupled_positions_do_not_tell_the_depth():
    prompt, target = drawn(Needle(), 4, count=1).structure["coupled"]
    assert prompt[0].tolist() == [1, 2, 3, 4, 5]
    assert target[0].tolist() == [0]


def test_every_key_of_a_question_has_all_its_needles():
    task = Needle(num_keys=5, num_needles=3, values_per_key=2, num_queries=2)
    for prompt in drawn(task, 24, count=100).prompt:
        words = task.vocabulary.text(prompt.tolist()).split()
        assert words[24] != words[25]
        keys = [word for word in words[:24] if word.startswith("k")]
        assert sorted(map(keys.count, set(keys))) == [2, 2, 2]


def test_a_haystack_has_noise_for_each_needle():
    assert (Needle().min_length, Needle(num_needles=4).min_length) == (3, 12)
    assert Needle(num_needles=4, values_per_key=2).min_length == 24
