from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.data import made, sources, text
from pe_lab.runs.errors import UserError
from pe_lab.tasks.language_model import LanguageModel
from pe_lab.tasks.layouts import Decoder
from pe_lab.training import splits
from pe_lab.training.build import build_setup
from pe_lab.training.evaluation_data import draw_batch
from tests import tiny

DATA_DIR = str(Path(__file__).parents[2] / ".cache" / "datasets")
ARGUMENTS = {"path": __file__, "data_dir": DATA_DIR}  # this file is the text of the laws


def of(folder, content, **arguments):
    (folder / "text").write_bytes(content)
    return LanguageModel(path=str(folder / "text"), data_dir=str(folder / "sets"), **arguments)


def windows(task, length, count, split="train"):
    data = jax.tree.map(jnp.asarray, task.data(split))
    keys = jax.random.split(jax.random.key(0), count)
    return np.asarray(
        jax.jit(jax.vmap(lambda key: task.sample(key, jnp.asarray(length), length, data).target))(
            keys
        )
    )


def held(task, split):
    """The text of a split."""
    data = task.data(split)
    return bytes(data["content"][: data["size"]])


@pytest.mark.slow
def test_a_window_is_a_piece_of_its_split_and_every_place_is_equally_likely(tmp_path):
    """77 windows of 5 in 80 different bytes and a newline, 50 draws each: standard deviation 7."""
    content = bytes(range(27, 127))
    task = of(tmp_path, content)
    drawn = windows(task, 5, 77 * 50)
    whole = content[:80] + b"\n"
    first = np.array([whole.index(bytes(row.tolist())) for row in drawn])
    counts = np.bincount(first)
    assert len(counts) == 77
    assert counts.min() > 15
    assert counts.max() < 85
    assert (held(task, "validation"), held(task, "test")) == (
        content[80:90] + b"\n",
        content[90:] + b"\n",
    )


def test_the_longest_window_is_the_shortest_split(tmp_path):
    task = of(tmp_path, b"x" * 99 + b"\n")
    assert (task.min_length, task.max_length) == (1, 10)  # the test split ends with a line's end
    assert windows(task, 10, 3, "test").tolist() == [[*b"x" * 9, 10]] * 3


def test_one_program_measures_validation_and_test_and_reads_nothing_behind_the_shorter(tmp_path):
    task = of(tmp_path, b"x" * 90 + b"y" * 9 + b"\n")
    shapes = [jax.tree.map(jnp.shape, task.data(split)) for split in ("validation", "test")]
    assert (
        shapes == [{"content": (11,), "size": ()}] * 2
    )  # xxxxxxxxxx and the line's end; the last part has one
    assert {bytes(row.tolist()) for row in windows(task, 8, 50, "test")} == {
        b"y" * 8,
        b"y" * 7 + b"\n",
    }


def test_documents_follow_one_another_each_ended_by_one_line_end(tmp_path):
    for name in ("a", "b", "c", "d"):
        (tmp_path / name).write_text(name * 3 + "\n" * (name != "a"))
    task = LanguageModel(path=str(tmp_path), data_dir=str(tmp_path / ".sets"))
    every = b"".join(held(task, split) for split in ("train", "validation", "test"))
    assert sorted(every.split(b"\n")) == [b"", b"aaa", b"bbb", b"ccc", b"ddd"]
    assert every.count(b"\n") == 4


@pytest.mark.full
def test_everything_is_asked_and_nothing_is_told(tmp_path):
    task = of(tmp_path, b"abcdefghij" * 20)
    example = task.sample(jax.random.key(0), jnp.asarray(3), 5, task.data("train"))
    assert (example.prompt.shape, example.prompt_mask.shape, task.prompt_bound(5)) == (
        (0,),
        (0,),
        0,
    )
    assert (
        example.asked.tolist() == example.answer_mask.tolist() == [True, True, True, False, False]
    )
    layout = Decoder(end_token=False)
    batch = layout(task, example)
    words = task.vocabulary
    assert layout.num_tokens(task, 5) == {"decoder": 6}
    assert batch.tokens.tolist() == [
        words.begin,
        words.separator,
        *example.target[:2].tolist(),
        words.pad,
        words.pad,
    ]
    assert batch.labels[1:4].tolist() == example.target[:3].tolist()
    assert batch.target.tolist() == [False, True, True, True, False, False]


@pytest.mark.slow
def test_one_key_is_one_window_whatever_the_bound(tmp_path):
    task = of(tmp_path, bytes(range(100)) * 2)
    data, keys = task.data("train"), jax.random.split(jax.random.key(0), 20)
    drawn = [
        jax.vmap(lambda key, b=bound: task.sample(key, jnp.asarray(5), b, data).target)(keys)[:, :5]
        for bound in (5, 30)
    ]
    np.testing.assert_array_equal(*drawn)


def test_names_are_what_a_reader_sees():
    assert LanguageModel(path="x").vocabulary.text([*b"a Z\n\xc3"]) == "a x20 Z x0a xc3"


def test_a_prepared_set_is_read_by_its_name(tmp_path):
    name = text.prepare(sources.documents(Path(__file__)), tmp_path)
    named, at_path = LanguageModel(dataset=name, data_dir=str(tmp_path)), LanguageModel(**ARGUMENTS)
    for split in ("train", "validation", "test"):
        assert held(named, split) == held(at_path, split)


@pytest.mark.slow
def test_stories_are_read_and_named_by_their_hash(tmp_path):
    task = LanguageModel(dataset="stories", data_dir=DATA_DIR)
    assert task.corpus == f"corpus/{made.HASHES['stories']}"
    assert held(task, "train").count(b"So ends the story of") == 960
    assert all(b"So ends" in held(task, split) for split in ("validation", "test"))


def test_the_text_of_the_operating_system_is_no_data_set(tmp_path):
    task = LanguageModel(dataset="installed", data_dir=str(tmp_path))
    with pytest.raises(UserError, match=r"has no 'installed'.*It has: sentences, stories"):
        _ = task.max_length


def test_the_name_of_a_users_text_changes_with_its_content(tmp_path):
    names = [of(tmp_path, content).corpus for content in (b"a" * 99, b"a" * 98 + b"b")]
    assert names[0] != names[1]
    assert all(name.startswith("corpus/") for name in names)


def test_more_than_can_be_counted_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("pe_lab.tasks._bytes._MOST", 60)
    with pytest.raises(
        UserError, match="split 'train' has 81 bytes of text, more than the 60 that can be counted"
    ):
        of(tmp_path, b"x" * 100).data("train")


def test_splits_in_bytes_are_the_bytes_of_the_file(tmp_path):
    content = bytes(range(32, 127))
    task = of(tmp_path, content, splits=(80, 10, 5), max_bytes=60)
    texts = [held(task, split) for split in ("train", "validation", "test")]
    assert texts == [content[:60], content[80:90], content[90:95]]
    named = LanguageModel(dataset=task.corpus, data_dir=task.data_dir)
    assert [held(named, "validation"), held(named, "test")] == [t + b"\n" for t in texts[1:]]


def test_a_set_with_several_texts_is_read_by_its_feature(tmp_path):
    rows = {s: [{"de": b"ja", "en": s.encode()}] for s in ("train", "validation", "test")}
    name = text.prepare(rows, tmp_path)
    task = LanguageModel(dataset=name, data_dir=str(tmp_path), feature="en")
    assert held(task, "validation") == b"validation\n"


NUMBERED = b"".join(b"%06d" % i for i in range(5000))  # each 12 bytes state their place


def evaluated(task, length, count):
    rule = splits.rule(task)
    data = jax.tree.map(jnp.asarray, task.data("test"))
    numbers = [jnp.asarray(n) for n in (1, length, 0)]
    return np.asarray(draw_batch(task, rule, length, count, *numbers, data).target)


@pytest.mark.slow
@pytest.mark.parametrize("within_documents", [False, True])
def test_evaluation_windows_of_all_lengths_end_with_the_same_bytes(tmp_path, within_documents):
    arguments = {"longest": 64, "align": "end", "within_documents": within_documents}
    task = of(tmp_path, NUMBERED, splits=(10_000, 10_000, 10_000), **arguments)
    longest = evaluated(task, 64, 1000)
    assert len(np.unique(longest, axis=0)) > 900
    for length in (16, 37):
        np.testing.assert_array_equal(evaluated(task, length, 1000), longest[:, -length:])
    from_start = of(tmp_path, NUMBERED, splits=(10_000, 10_000, 10_000), longest=64)
    np.testing.assert_array_equal(
        evaluated(from_start, 16, 9), evaluated(from_start, 64, 9)[:, :16]
    )


@pytest.mark.slow
def test_windows_stay_within_documents_and_every_place_is_equally_likely(tmp_path):
    """Documents of 3, 4 and 9 bytes: windows of 4 have 0, 1 and 6 places in them."""
    rows = {"train": [b"aa\n", b"bbb\n", b"cdefghij\n"], "validation": [b"x" * 9] * 2}
    rows["test"] = [b"y" * 9 + b"\n"]
    prepared = {s: [{"text": document} for document in rows[s]] for s in rows}
    name = text.prepare(prepared, tmp_path)
    task = LanguageModel(dataset=name, data_dir=str(tmp_path), within_documents=True, longest=9)
    found, counts = np.unique(windows(task, 4, 7000), axis=0, return_counts=True)
    assert [bytes(row.tolist()) for row in found] == sorted(
        [b"bbb\n", b"cdef", b"defg", b"efgh", b"fghi", b"ghij", b"hij\n"]
    )
    assert counts.min() > 850  # of 1,000 each
    assert task.max_length == 9
    shapes = [jax.tree.map(jnp.shape, task.data(split)) for split in ("validation", "test")]
    assert shapes[0] == shapes[1]
    assert {bytes(row.tolist()) for row in windows(task, 9, 9, "test")} == {
        b"y" * 9,
        b"y" * 8 + b"\n",
    }


def test_a_longest_window_that_no_document_has_is_one_sentence(tmp_path):
    task = of(tmp_path, b"x" * 100, longest=20)
    with pytest.raises(UserError, match="longest=20 is more than the 11 bytes of the longest text"):
        _ = task.max_length


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"align": "end"}, r"needs longest=BYTES for align='end'"),
        ({"longest": 0}, "must be at least 1"),
        ({"splits": (1, 0, 1)}, "must be at least 1"),
        ({"path": None, "dataset": "stories", "splits": "named"}, "a dataset has its own"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, why):
    with pytest.raises(ValueError, match=why):
        LanguageModel(**{"path": "x", **arguments})


@pytest.mark.parametrize("arguments", [{}, {"path": "a", "dataset": "b"}])
def test_neither_or_both_sources_are_refused(arguments):
    with pytest.raises(ValueError, match="reads one of path, dataset and tokens, got path="):
        LanguageModel(**arguments)


@pytest.mark.parametrize(
    "arguments", [{}, {"splits": (3, 1, 1)}, {"splits": "named"}, {"on_demand": True}]
)
def test_nothing_at_the_path_is_one_sentence(tmp_path, arguments):
    with pytest.raises(UserError, match="There is no file or folder of text at nowhere"):
        _ = LanguageModel(path="nowhere", data_dir=str(tmp_path), **arguments).max_length


@pytest.mark.slow
def test_a_text_has_no_prompt_for_an_encoder_to_read():
    run = tiny.run(task={"name": "language_model", **ARGUMENTS}, layout__name="encoder_decoder")
    with pytest.raises(
        UserError,
        match=r"^language_model has no prompt, so the encoder of the layout encoder_decoder "
        r"would have nothing to read\.$",
    ):
        build_setup(run)
