import importlib
import itertools
import json
import re
from collections import Counter

import pytest

from docs.build import corpora
from pe_lab.contrib.text.data.made import stories
from pe_lab.contrib.text.data.made.draws import CorpusDraws
from pe_lab.data import made, text
from pe_lab.runs.errors import UserError


@pytest.fixture(scope="module")
def texts():
    """The first 30 stories."""
    return [row["text"].decode() for row in itertools.islice(stories.rows(), 30)]


# Another hash means that the machine makes another text than the published runs read.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sha256"), [("sentences", "d4e09403c4b02aa2"), ("stories", "278c269b19dd5459")]
)
def test_a_corpus_has_the_same_hash_on_every_machine_and_is_made_once(
    name, sha256, tmp_path, monkeypatch
):
    assert made.HASHES[name] == sha256
    prepared = text.prepare_made(name, tmp_path)
    assert prepared == f"corpus/{made.HASHES[name]}"
    assert text.names(tmp_path) == [prepared]
    monkeypatch.setattr(importlib, "import_module", lambda name: pytest.fail("it is made again"))
    assert text.prepare_made(name, tmp_path) == prepared


def test_changed_code_of_a_corpus_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(stories, "NUM_STORIES", 10)
    expected = f"stories has the hash [0-9a-f]{{16}}, not {made.HASHES['stories']}: the code"
    with pytest.raises(UserError, match=expected):
        text.prepare_made("stories", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_story_ends_with_its_people_in_the_order_of_the_introduction(texts):
    for story in texts:
        introduced = re.findall(r"(\w+) is a \w+ from", story.split("\n")[0])
        last = story.rstrip().split("\n")[-1]
        names = re.sub("So ends the story of |\\.", "", last)
        assert re.split(", | and ", names) == introduced
        assert len(introduced) >= 3


def test_a_person_keeps_trade_and_home(texts):
    for story in texts:
        facts = re.findall(r"(\w+) is a (\w+) from (\w+) and", story)
        trades = {name: trade for name, trade, _ in facts}
        homes = {name: home for name, _, home in facts}
        later_trades = re.findall(r"([A-Z]\w+) the (\w+) \w+ the", story)
        later_homes = re.findall(r"Then (\w+) went home to (\w+) with", story)
        assert all(trades[name] == trade for name, trade in later_trades)
        assert all(homes[name] == home for name, home in later_homes)
        assert later_trades
        assert later_homes


def test_names_belong_to_one_story(texts):
    stories_of = Counter()
    for story in texts:
        stories_of.update(set(re.findall(r"(\w+) is a \w+ from", story)))
    assert set(stories_of.values()) == {1}


def test_brackets_close_in_the_reverse_order_and_nest_three_deep(texts):
    closing = {"(": ")", "[": "]", "{": "}"}
    deepest = 0
    for story in texts:
        expected = []
        for character in story:
            if character in closing:
                expected.append(closing[character])
            elif character in closing.values():
                assert character == expected.pop()
            deepest = max(deepest, len(expected))
        assert expected == []
    assert deepest == 3


def test_the_refrain_ends_every_paragraph_but_the_first_and_last(texts):
    for story in texts:
        paragraphs = story.rstrip().split("\n")[1:-1]
        refrains = {re.split(r"[.)\]}] ", paragraph)[-1] for paragraph in paragraphs}
        (refrain,) = refrains
        assert len(refrain.split()) == 7


@pytest.mark.slow
def test_text_beyond_a_window_of_training_lowers_the_entropy(texts):
    """Names, facts and the refrain come from more than 128 bytes before."""
    contents = [story.encode() for story in texts]
    counts = corpora.Counts(contents[3:20], order=2)
    near, far = (corpora.context_bits(counts, contents[:2], size) for size in (128, 1024))
    assert far < near - 0.5
    assert near < corpora.fixed_bits(counts, contents[:2]) - 0.2


def test_blended_counts_follow_witten_and_bell():
    """After "aab": b"a" was followed by a and b, and the empty context by 2 a and 1 b."""
    counts = corpora.Counts([b"aab"], order=1)
    empty = (2 + 2 / 256) / (3 + 2)
    assert counts.probability(b"", ord("a")) == pytest.approx(empty)
    assert counts.probability(b"a", ord("a")) == pytest.approx((1 + 2 * empty) / (2 + 2))
    assert counts.probability(b"x", ord("a")) == pytest.approx(empty)


def test_a_repeated_text_costs_little_if_the_context_reaches_it():
    draws = CorpusDraws(1)
    block = bytes(draws.below(256) for _ in range(300))
    counts = corpora.Counts([], order=0)
    near = corpora.context_bits(counts, [block * 4], 400)
    far = corpora.context_bits(counts, [block * 4], 100)
    assert far == pytest.approx(8)
    assert near < 4


def test_the_page_shows_every_corpus_and_a_measured_table(tmp_path):
    section = corpora.section(tmp_path)
    assert section.count("\n\nHash: `") == len(made.HASHES)
    assert "| bits per byte |" not in section
    record = {"fixed": {"0": 4.384}, "context": {"128": 1.658}}
    file = tmp_path / corpora.RECORD
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(record))
    lines = [re.sub(" +", " ", line) for line in corpora.section(tmp_path).splitlines()]
    assert "| the last 0 bytes | 4.38 |" in lines
    assert "| the last 5 bytes, copies from the last 128 | 1.66 |" in lines


def test_draws_are_those_of_pythons_guaranteed_sequence():
    """random.Random(1).random() starts with 0.134, 0.847, 0.764, 0.255, 0.495."""
    draws = CorpusDraws(1)
    assert [draws.below(10) for _ in range(5)] == [1, 8, 7, 2, 4]
    draws = CorpusDraws(1)
    assert draws.items("abc", 3) == ["a", "c", "b"]


def test_frequent_items_follow_zipf():
    draws = CorpusDraws(0)
    counts = Counter(draws.frequent("abcd") for _ in range(25_000))
    for i, item in enumerate("abcd"):
        assert counts[item] == pytest.approx(12_000 / (i + 1), rel=0.05)
