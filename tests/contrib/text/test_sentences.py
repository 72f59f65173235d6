import itertools

import pytest

from pe_lab.contrib.text.data.made import sentences
from pe_lab.contrib.text.data.made.words import ADJECTIVES, NOUNS, TRADES, VERBS


@pytest.fixture(scope="module")
def pairs():
    rows = itertools.islice(sentences.rows(), 300)
    return [(row["source"].decode(), row["target"].decode()) for row in rows]


def test_a_translation_has_the_words_of_its_sentence_in_another_order(pairs):
    dictionary = sentences._dictionary()
    roots = {translation: english for english, translation in dictionary.items()}
    plurals = {form: verb.plural for verb in VERBS for form in verb}
    english = {*NOUNS, *TRADES, *ADJECTIVES, *plurals.values()}
    for source, target in pairs:
        expected = []
        for word in source.split():
            root = plurals.get(word, word)
            root = root if root in english else root.removesuffix("s")
            if root in english:
                expected.append(root)
        roots_of_target = []
        for word in target.split():
            for root in (word, word.removesuffix("n"), word.removesuffix("n").removesuffix("ra")):
                if root in roots:
                    roots_of_target.append(roots[root])
                    break
        assert sorted(roots_of_target) == sorted(expected)
        assert source.split().count("who") == target.split().count("ke")


def test_the_last_word_of_a_translation_is_the_verb_of_the_subject(pairs):
    """The subject is the first word of the target, and its verb the last; both show the number."""
    dictionary = sentences._dictionary()
    verbs = {dictionary[verb.plural] for verb in VERBS}
    trades = {dictionary[trade] for trade in TRADES}
    for _, target in pairs:
        subject, *_, verb = target.split()
        is_plural = subject not in trades
        root = verb.removesuffix("n") if is_plural else verb
        assert {root, root.removesuffix("ra")} & verbs
