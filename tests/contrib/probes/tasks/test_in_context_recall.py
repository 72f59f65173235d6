import itertools

import numpy as np
import pytest

from pe_lab.contrib.probes.tasks.in_context_recall import InContextRecall
from tests.tasks.drawing import drawn, symbols

VARIANTS = [
    {},
    dict(longest_key=3, longest_value=3),
    dict(noise=0.4, num_noise=5, max_questions=1),
    dict(num_keys=3, longest_key=2, longest_value=2, noise=0.3, max_questions=2),
]
CHANCE_LEVELS = [
    (dict(max_questions=1), 8, "token_accuracy", 1 / 8, 1),
]
REFUSALS = [
    (dict(longest_key=9), r"longest_key is 1 or more, .* got 9 and 8"),
    (dict(num_values=1), r"longest_value is 1 or more, .* got 1 and 1"),
    (dict(noise=1.0), r"got noise=1\.0 and num_noise=16"),
    (dict(max_questions=0), r"a question or more, got max_questions=0\.$"),
]
FUZZY = dict(num_keys=7, num_values=7, longest_key=3, longest_value=3)
PLAIN = dict(num_keys=3, num_values=4)
NOISY = dict(num_keys=4, num_values=4, noise=0.4, num_noise=3)
# Two examples of the authors' generator (athms/mad-lab at 0f49a45, mad/data/instances.py): of
# generate_fuzzy_in_context_recall_instance(16, 28) and
# generate_noisy_in_context_recall_instance(12, 14, noise_vocab_size=3, frac_noise=0.4). Then one of
# generate_in_context_recall_instance(8, 16, False, default_rng(0), noise_vocab_size=0), which has a
# loss at the last token alone.
GENERATED = (
    (
        FUZZY,
        "k2 k0 k4 v0 v4 v1 k6 k1 v1 v3 v2 k1 k3 k6 v1 k4 k0 v3 k6 v5",
        "k4 k0 v3",
    ),
    (NOISY, "n0 n1 n2 n1 k2 v3 n0 n1 k1 v1 k2 v3", "k2 v3"),
    (PLAIN, "k1 v2 k0 v1 k0 v1 k0 v1 k0 v1 k0 v1 k2 v2", "k2 v2"),
)


def kind_of(name):
    return name[0]


def pairs_of(task, prompt):
    """The strings of keys and of values in the order of the prompt, without noise."""
    names = task.vocabulary.text(prompt).split()
    strings = [tuple(group) for _, group in itertools.groupby(names, key=kind_of)]
    strings = [string for string in strings if kind_of(string[0]) != "n"]
    return list(zip(strings[::2], strings[1::2], strict=True))


def oracle(task, prompt, given):
    book = {}
    for key, value in pairs_of(task, prompt.tolist()):
        assert book.setdefault(key, value) == value
    target = []
    for is_given, group in itertools.groupby(given.tolist(), key=lambda symbol: symbol != -1):
        symbols_of_group = list(group)
        if is_given:
            target += symbols_of_group
            key = tuple(task.vocabulary.names[symbol] for symbol in symbols_of_group)
        else:
            assert len(book[key]) == len(symbols_of_group)
            target += [task.vocabulary.names.index(name) for name in book[key]]
    return np.array(target)


@pytest.mark.parametrize(("arguments", "prompt", "target"), GENERATED)
def test_the_oracle_recalls_as_the_authors_generator(arguments, prompt, target):
    task = InContextRecall(**arguments)
    expected = np.array(symbols(task.vocabulary, target))
    given = np.where(expected < task.num_keys, expected, -1)
    recalled = oracle(task, np.array(symbols(task.vocabulary, prompt)), given)
    assert recalled.tolist() == expected.tolist()


def test_the_question_is_uniform_on_the_keys_of_the_prompt():
    """Two keys, one of them twice: each is the question in half of the prompts, as in MAD.

    Of 1000 prompts of three entries with 3 keys, two thirds are such: standard deviation 13.
    """
    task = InContextRecall(num_keys=3, max_questions=1)
    examples = drawn(task, 3)
    asked_twice = []
    for prompt, target in zip(examples.prompt, examples.target, strict=True):
        keys = prompt[::2].tolist()
        if len(set(keys)) == 2:
            asked_twice.append(keys.count(target[0]) == 2)
    assert abs(len(asked_twice) - 667) < 75
    assert abs(np.mean(asked_twice) - 0.5) < 0.1


def test_strings_have_uniform_sizes_and_uniform_symbols():
    """1000 keys of 1 to 3 tokens: 333 each expected, standard deviation 15; of 1 token 7 kinds."""
    task = InContextRecall(**FUZZY)
    prompts = drawn(task, 1).prompt.tolist()
    masks = drawn(task, 1).prompt_mask
    keys, values = [], []
    for prompt, mask in zip(prompts, masks, strict=True):
        ((key, value),) = pairs_of(task, prompt[: mask.sum()])
        assert len(set(key)) == len(key)
        keys.append(key)
        values.append(value)
    for strings in (keys, values):
        sizes = np.bincount([len(string) for string in strings], minlength=4)
        np.testing.assert_allclose(sizes[1:], 1000 / 3, atol=75)
        ones = [string[0] for string in strings if len(string) == 1]
        counts = np.unique(ones, return_counts=True)[1]
        np.testing.assert_allclose(counts / len(ones), 1 / 7, atol=0.1)


def test_noise_replaces_entries_but_one():
    """Of 5 entries one is never noise: 4000 draws at 0.4, 1600 expected, standard deviation 31."""
    task = InContextRecall(**NOISY)
    prompts = drawn(task, 5).prompt.reshape(1000, 5, 2)
    is_noise = prompts >= 8
    assert (is_noise[..., 0] == is_noise[..., 1]).all()
    assert is_noise[..., 0].sum(axis=1).max() == 4
    assert abs(is_noise[..., 0].sum() - 1600) < 155


def test_the_answer_is_aligned_with_the_last_entry_of_its_key():
    task = InContextRecall(num_keys=2, max_questions=1)
    examples = drawn(task, 4, count=50)
    for prompt, target, source in zip(
        examples.prompt, examples.target, examples.alignment, strict=True
    ):
        last = max(i for i in range(0, 8, 2) if prompt[i] == target[0])
        assert source.tolist() == [-1, last + 1]


def test_each_key_of_the_prompt_is_asked_once_up_to_the_most_questions():
    for most in (3, 9):
        task = InContextRecall(num_keys=6, max_questions=most)
        examples = drawn(task, 7, count=50)
        for prompt, target, mask in zip(
            examples.prompt, examples.target, examples.target_mask, strict=True
        ):
            present, asked = set(prompt[::2].tolist()), target[mask][::2].tolist()
            assert set(asked) <= present
            assert len(asked) == len(set(asked)) == min(len(present), most)


def test_coupled_positions_do_not_tell_the_entry():
    prompt, target = drawn(InContextRecall(), 2, count=1).structure["coupled"]
    assert prompt[0].tolist() == [1, 2, 3, 4]
    assert target[0].tolist() == [0] * 4
