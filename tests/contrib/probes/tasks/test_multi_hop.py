import jax
import numpy as np
import pytest

from pe_lab.contrib.probes.tasks.multi_hop import MultiHop
from tests.tasks.drawing import drawn, symbols

VARIANTS = [
    {},
    dict(word_symbols=3, shortest_word=1, longest_word=3, max_hops=5, max_questions=2),
    dict(word_symbols=4, shortest_word=2, longest_word=2, max_questions=1),
]
CHANCE_LEVELS = [
    (dict(word_symbols=8), 8, "token_accuracy", 1 / 8, 8),  # eight answers
]
REFUSALS = [
    (dict(shortest_word=2), "shortest_word <= longest_word, got 2 and 1"),
    (dict(max_hops=0), "got max_hops=0 and max_questions=10"),
    (dict(longest_word=4), "makes 17,043,520 words, more than 100,000"),
]
# Two examples of the authors' generator (PhysicsLM4 at 7580696, Depo/depo.py) with N=4, K=3,
# mini_vocab=2 and words of 1 to 2 tokens: the edges, then the questions with their answers. Its
# symbols 1 and 2 are "w0" and "w1" here; 3 and 4, the ends, are "w0." and "w1.".
GENERATED = (
    ("w0 w1. w1. w0. w0 w1. w1. w0.", ">2 w0. w1. >1 w1. w0. >3 w0 w1. w0 w1."),
    (
        "w0 w1. w1. w1. w1 w1. w1 w0. w0 w1. w1 w1. w1 w0.",
        ">1 w1. w1 w1. >2 w0 w1. w1 w1. >2 w1 w0. w1. >1 w1 w1. w1 w0.",
    ),
)
# The first call of depo_data(6, 4, M=3, QA=True, mini_vocab=3, min_tlen=1, max_tlen=3) with the
# file's own seed 42, and its labels: 1 at the tokens with a loss. The token that separates a word
# from the answer, which has a loss too, is left out.
LABELED = (
    "w0. w0 w2 w0. w2. w0 w0. w2 w0 w2. w0 w0 w2. w0 w0. w0. w0 w0 w2. w2. w0 w2 w0. w2 w0 w2.",
    ">2 w2. w0. >1 w0 w0 w2. w2. >1 w0. w0 w2 w0.",
    "0  0   1   0  0  0  0   1   0  0   1  1  1",
)


def split_words(task, tokens):
    """The words of a sequence: each ends with a symbol of the first alphabet."""
    words, word = [], []
    for token in tokens:
        word.append(token)
        if token < task.word_symbols:
            words.append(tuple(word))
            word = []
    assert not word
    return words


def oracle(task, prompt, given):
    words = split_words(task, prompt.tolist())
    successor = dict(zip(words[::2], words[1::2], strict=True))
    first_hop = task.vocabulary.names.index(">1")
    target, rest = [], given.tolist()
    while rest:
        hop = rest.pop(0)
        target.append(hop)
        word = []
        while not word or word[-1] >= task.word_symbols:
            word.append(rest.pop(0))
        target += word
        for _ in range(hop - first_hop + 1):
            word = successor[tuple(word)]
        assert rest[: len(word)] == [-1] * len(word)
        del rest[: len(word)]
        target += word
    return np.array(target)


def given_of(task, target):
    """The target with -1 at the answers: the second word after a number of hops."""
    first_hop = task.vocabulary.names.index(">1")
    given, num_ends = [], 0
    for token in target:
        num_ends = 0 if token >= first_hop else num_ends
        given.append(-1 if num_ends else token)
        num_ends += token < task.word_symbols
    return np.array(given)


@pytest.mark.parametrize(("prompt", "target"), GENERATED)
def test_the_oracle_answers_as_the_authors_generator(prompt, target):
    task = MultiHop(word_symbols=2, longest_word=2, max_hops=3)
    expected = symbols(task.vocabulary, target)
    given = given_of(task, expected)
    assert (given == -1).sum() >= 3
    answers = oracle(task, np.array(symbols(task.vocabulary, prompt)), given)
    assert answers.tolist() == expected


def test_the_answers_are_the_tokens_that_the_authors_label():
    task = MultiHop(word_symbols=3, longest_word=3)
    prompt, target, labels = LABELED
    expected = np.array(symbols(task.vocabulary, target))
    given = given_of(task, expected)
    assert (given == -1).tolist() == [label == "1" for label in labels.split()]
    answers = oracle(task, np.array(symbols(task.vocabulary, prompt)), given)
    assert answers.tolist() == expected.tolist()
    examples = drawn(task, 6, count=50)
    for row, mask, asked in zip(examples.target, examples.target_mask, examples.asked, strict=True):
        given = given_of(task, row[mask])
        assert (given == -1).tolist() == asked[mask].tolist()


def test_the_edges_are_one_cycle_in_random_order():
    """The first edge's word is uniform: 5 words, 1000 draws, 200 each, standard deviation 13."""
    task = MultiHop(word_symbols=5)
    prompts = drawn(task, 5).prompt
    for prompt in prompts[:100].tolist():
        successor = dict(zip(prompt[::2], prompt[1::2], strict=True))
        word, cycle = prompt[0], []
        for _ in range(5):
            word = successor[word]
            cycle.append(word)
        assert sorted(cycle) == list(range(5))
    np.testing.assert_allclose(np.bincount(prompts[:, 0]), 200, atol=60)
    np.testing.assert_allclose(np.bincount(prompts[:, 1]), 200, atol=60)


def test_words_are_drawn_until_enough_differ():
    """Two words of 2 + 4 possible ones; 1000 draws.

    One word of one token has weight 1/4, one of two tokens 1/8. Both have one token in
    2 * 1/4 * (1/4) / (3/4) = 1/6 of the draws: 167, standard deviation 12.
    """
    task = MultiHop(word_symbols=2, longest_word=2)
    num_tokens = drawn(task, 2).prompt_mask.sum(axis=1)
    assert set(num_tokens.tolist()) == {4, 6, 8}
    assert abs((num_tokens == 4).sum() - 1000 / 6) < 55


def test_questions_have_different_words_and_uniform_hops():
    """4 numbers of hops, 3000 questions: 750 each expected, standard deviation 24."""
    task = MultiHop(word_symbols=9, max_questions=3)
    questions = drawn(task, 6).target.reshape(-1, 3, 3)
    assert all(len(set(words)) == 3 for words in questions[:, :, 1].tolist())
    np.testing.assert_allclose(np.bincount(questions[:, :, 0].ravel())[9:], 750, atol=110)


def test_short_cycles_have_a_question_for_each_word():
    task = MultiHop()
    assert [task.target_bound(n) for n in (2, 9, 20)] == [6, 27, 30]
    assert (drawn(task, 4, count=20).answer_mask.sum(axis=1) == 4).all()


def test_the_attribute_is_the_largest_number_of_hops():
    task = MultiHop(word_symbols=9, max_questions=2)
    examples = drawn(task, 6, count=50)
    values = jax.vmap(lambda e: task.attributes["most_hops"].value(task, e))(examples)
    hops = examples.target.reshape(-1, 2, 3)[:, :, 0] - 8
    np.testing.assert_array_equal(values, hops.max(axis=1))
    assert task.attributes["most_hops"].largest(task, 6) == 4


def test_with_one_question_the_attribute_separates_the_hops():
    """1000 examples: 250 of each number of hops are expected, standard deviation 14.

    With 10 questions, 1 - (3/4)^10 of them have the most hops: 944, standard deviation 7.
    """
    hops = {}
    for questions in (1, 10):
        task = MultiHop(max_questions=questions)
        examples = drawn(task, 12)
        values = jax.vmap(lambda e, t=task: t.attributes["most_hops"].value(t, e))(examples)
        hops[questions] = np.bincount(values, minlength=5)[1:]
    np.testing.assert_allclose(hops[1], 250, atol=65)
    assert abs(hops[10][3] - 944) < 35


def test_there_are_as_many_words_as_the_alphabet_makes():
    assert MultiHop().max_length == 64
    assert MultiHop(word_symbols=3, shortest_word=5, longest_word=7).max_length == 3159
    assert MultiHop(word_symbols=50, longest_word=2).max_length == 2550
