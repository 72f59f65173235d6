"""Texts that stay in their files."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from configs.papers import enwik8
from pe_lab.contrib.text.data import _parts as parts
from pe_lab.runs.errors import UserError, user_error
from pe_lab.tasks.language_model import LanguageModel
from pe_lab.training.setup import assemble
from tests import tiny
from tests.contrib.text.test_tokens import IDS, SPLITS, shard
from tests.tasks.test_language_model import evaluated, of, windows

NUMBERED = b"".join(b"%06d" % i for i in range(5000))


@pytest.mark.slow
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_windows_on_demand_are_those_of_the_text_in_memory(tmp_path, end):
    arguments = {"longest": 64, "align": "end", "max_bytes": 20_011}
    content = "é".encode() * 40 + NUMBERED + end
    here = of(tmp_path, content, **arguments)
    there = of(tmp_path, content, on_demand=True, **arguments)
    assert (there.corpus, there.max_length) == (here.corpus, here.max_length)
    assert there.corpus_sizes == here.corpus_sizes
    for length in (16, 64):
        np.testing.assert_array_equal(windows(there, length, 40), windows(here, length, 40))
        np.testing.assert_array_equal(evaluated(there, length, 40), evaluated(here, length, 40))


@pytest.mark.slow
def test_windows_of_shards_on_demand_are_those_in_memory(tmp_path):
    for number in range(5):
        shard(tmp_path / f"{number}.bin", IDS[: 100 + number])
    task = LanguageModel(tokens=str(tmp_path))
    on_demand = LanguageModel(tokens=str(tmp_path), on_demand=True)
    assert set(on_demand.data("train")) == {"size", "split", "hash"}
    np.testing.assert_array_equal(windows(on_demand, 90, 99), windows(task, 90, 99))


@pytest.mark.slow
@pytest.mark.parametrize("on_demand", [{}, {"on_demand": True}], ids=["as declared", "on demand"])
def test_a_file_of_the_size_of_enwik8_is_cut_at_the_official_bytes(
    tmp_path, monkeypatch, on_demand
):
    """Twelve bytes around each cut state the place of the cut; the last byte ends the test."""
    file = tmp_path / "enwik8"
    ends = (90_000_000, 95_000_000, 100_000_000)
    with file.open("wb") as opened:
        opened.truncate(ends[-1])  # zeros, which need no disk
        for end in ends[:-1]:
            opened.seek(end - 6)
            opened.write(b"before" + b"behind")
        opened.seek(ends[-1] - 3)
        opened.write(b"end")
    monkeypatch.chdir(tmp_path)
    arguments = enwik8.get_config().to_dict()["task"]
    task = LanguageModel(**{k: v for k, v in arguments.items() if k != "name"}, **on_demand)
    assert task.on_demand == bool(on_demand)
    sizes = {"train": 90_000_000, "validation": 5_000_000, "test": 5_000_000}
    assert task.corpus_sizes == {"corpus_bytes": sizes}
    texts = {split: text.content for split, text in task._split_texts.items()}
    first = {split: bytes(np.asarray(text[:6])) for split, text in texts.items()}
    last = {split: bytes(np.asarray(text[-6:])) for split, text in texts.items()}
    assert first == {"train": bytes(6), "validation": b"behind", "test": b"behind"}
    assert last == {"train": b"before", "validation": b"before", "test": b"\0\0\0end"}


def test_a_window_behind_the_end_of_a_text_is_padded(tmp_path):
    task = of(tmp_path, b"x" * 100, on_demand=True)
    drawn = jax.jit(lambda key: task.sample(key, jnp.asarray(11), 20, task.data("test")).target)
    assert drawn(jax.random.key(0)).tolist() == [*b"x" * 10, 10, *[0] * 9]


def test_one_text_has_one_hash_whatever_the_blocks_and_another_text_another(tmp_path, monkeypatch):
    names = [of(tmp_path, NUMBERED, on_demand=True).corpus]
    monkeypatch.setattr(parts, "_BLOCK", 1001)
    names += [of(tmp_path, text, on_demand=True).corpus for text in (NUMBERED, NUMBERED[:-1])]
    assert names[0] == names[1] != names[2]


@pytest.mark.parametrize(
    ("content", "offset"), [(b"ab\xff" + b"x" * 30, 2), (b"x" * 29 + "é".encode()[:1], 29)]
)
def test_on_demand_text_is_utf8(tmp_path, monkeypatch, content, offset):
    monkeypatch.setattr(parts, "_BLOCK", 3)
    with pytest.raises(UserError, match=rf"not valid UTF-8 \(invalid byte at offset {offset}\)"):
        _ = of(tmp_path, content, on_demand=True).max_length


@pytest.mark.parametrize("name", ["folder", "text.gz", "web.jsonl"])
def test_only_a_plain_file_is_read_on_demand(tmp_path, name):
    path = tmp_path / name
    path.mkdir() if name == "folder" else path.write_bytes(b"")
    with pytest.raises(UserError, match=f"reads one plain file of text, and .*{name} is none"):
        _ = LanguageModel(path=str(path), on_demand=True).max_length


def replace(file):
    (file.parent / "new").write_bytes(file.read_bytes())
    (file.parent / "new").replace(file)


CHANGES = {
    "shorter": lambda file: file.write_bytes(b"x" * 50),
    "other": lambda file: file.write_bytes(b"y" * 100),
    "longer": lambda file: file.write_bytes(b"x" * 101),
    "replaced": replace,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_text_that_changes_after_its_hash_is_a_mistake_in_one_sentence(tmp_path, change):
    task = of(tmp_path, b"x" * 100, on_demand=True)
    draw = jax.jit(lambda data: task.sample(jax.random.key(0), jnp.asarray(9), 9, data).target)
    data = task.data("train")
    assert draw(data).tolist() == [ord("x")] * 9
    CHANGES[change](tmp_path / "text")
    with pytest.raises(Exception, match="UserError") as raised:  # of JAX, of several classes
        draw(data).block_until_ready()
    sentence = f"{tmp_path / 'text'} has changed since its text was opened."
    assert str(user_error(raised.value)) == sentence


def test_evaluation_reads_the_task_of_training_unless_its_arguments_differ():
    setup = assemble(tiny.run())
    assert setup.evaluated_task is setup.task
    setup = assemble(tiny.run(task={"name": "addition"}, evaluate__exact_operands="longest"))
    assert setup.evaluated_task is not setup.task


@pytest.mark.full
def test_training_on_demand_gives_the_record_of_training_in_memory(tmp_path):
    """Rows, curve and parameters; bytes and tokens of one byte have equal bits."""
    (tmp_path / "text").write_bytes(NUMBERED)
    shard(tmp_path / "ids", [*NUMBERED])
    sizes = {"longest": 32, "align": "end", "data_dir": str(tmp_path / "sets")}
    split_sizes = {"splits": (24_000, 3_000, 3_000)}
    text_task = {"path": str(tmp_path / "text"), **sizes, **split_sizes}
    token_task = {"tokens": str(tmp_path / "ids"), **sizes, **split_sizes, "vocabulary_size": 256}
    records = []
    for number, task in enumerate(
        [
            text_task,
            {**text_task, "on_demand": True},
            {**token_task, "bytes_per_token": 1.0},
            {**token_task, "on_demand": True},
        ]
    ):
        group = tiny.group(
            task={"name": "language_model", **task},
            layout__end_token=False,
            train__min_length=16,
            train__max_length=16,
            evaluate__lengths=(16, 32),
            evaluate__curve_lengths=(16,),
            seeds=2,
        )
        records.append(tiny.train(tmp_path / str(number), group)[0])
    first, *others = records
    assert first["rows"]
    for record in others:
        for key in ("rows", "curve"):
            assert json.dumps(record[key]) == json.dumps(first[key])
    assert [record["exposure"]["length_name"] for record in records] == ["bytes"] * 2 + [
        "tokens"
    ] * 2
    assert first["exposure"].keys() - others[1]["exposure"].keys() == {"corpus_bytes"}
    assert others[1]["exposure"]["bytes_per_token"] == dict.fromkeys(SPLITS, 1.0)
    assert first["provenance"]["corpus"] == others[0]["provenance"]["corpus"]
    assert len({record["provenance"]["data"] for record in records}) == 4
