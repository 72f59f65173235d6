"""Files of token ids, and texts that stay in their files."""

import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.text.data import _parts as parts
from pe_lab.contrib.text.data import _tokens
from pe_lab.runs.errors import UserError
from pe_lab.tasks.language_model import LanguageModel
from pe_lab.training.build import build_setup
from tests import tiny
from tests.tasks.test_language_model import evaluated, of, windows

SPLITS = ("train", "validation", "test")
IDS = np.arange(1000) * 7 % 613


def shard(file, ids, magic=20240520, version=1, count=None, kind=np.uint16):
    header = np.zeros(256, np.int32)
    header[:3] = magic, version, len(ids) if count is None else count
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(header.tobytes() + np.asarray(ids, kind).tobytes())
    return str(file)


def ids_of(task):
    """The tokens of each split."""
    ids = {}
    for split in SPLITS:
        data = task.data(split)
        ids[split] = data["content"][: data["size"]].tolist()
    return ids


KINDS = {
    "uint16": {},
    "uint32": {"magic": 20240801, "version": 7, "kind": np.uint32},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("has_header", [True, False])
def test_a_written_shard_is_read_back(tmp_path, kind, has_header):
    arguments = {}
    file = tmp_path / "ids"
    if has_header:
        shard(file, IDS, **KINDS[kind])
    else:
        file.write_bytes(IDS.astype(kind).tobytes())
        arguments = {"token_type": kind}
    task = LanguageModel(tokens=str(file), **arguments)
    ids = ids_of(task)
    assert [len(ids[split]) for split in SPLITS] == [800, 100, 100]
    assert [*itertools.chain(*ids.values())] == IDS.tolist()
    assert task.vocabulary.num_symbols == 613
    assert LanguageModel(tokens=str(file), vocabulary_size=50257, **arguments).vocabulary.size == (
        50257 + 5
    )
    assert task.length_name == "tokens"
    assert task.corpus.startswith("tokens/")
    assert task.corpus_sizes == {"corpus_tokens": {"train": 800, "validation": 100, "test": 100}}


def test_shards_of_a_folder_follow_one_another_by_name_and_files_of_other_kinds_are_no_shards(
    tmp_path,
):
    (tmp_path / "tokenizer.json").write_text("{}")
    for number in (2, 1, 3):
        shard(tmp_path / f"part_{number}.bin", IDS[: 10 * number] + number)
    task = LanguageModel(tokens=str(tmp_path), splits=(20, 25, 15), max_tokens=18)
    whole = np.concatenate([IDS[: 10 * number] + number for number in (1, 2, 3)])
    starts = {"train": 0, "validation": 20, "test": 45}
    for split, ids in ids_of(task).items():
        assert ids == whole[starts[split] :][: min(18, 15 if split == "test" else 18)].tolist()


def test_names_state_the_splits_and_the_end_of_training_replaces_a_missing_one(tmp_path):
    shard(tmp_path / "fineweb_train_000001.bin", range(100))
    shard(tmp_path / "fineweb_train_000002.bin", range(100, 200))
    shard(tmp_path / "fineweb_val_000000.bin", range(200, 230))
    ids = ids_of(LanguageModel(tokens=str(tmp_path), splits="named"))
    assert ids["train"] == [*range(190)]
    assert ids["validation"] == [*range(200, 230)]
    assert ids["test"] == [*range(190, 200)]


def written(folder, content):
    file = folder / "ids"
    file.write_bytes(content)
    return {"tokens": str(file)}


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda f: {"tokens": str(f / "none")}, "There is no file or folder of tokens at .*none"),
        (lambda f: {"tokens": str(f)}, r"has no file of tokens, NAME\.bin"),
        (lambda f: written(f, b"123"), "have 3 bytes, not 2 for each token"),
        (lambda f: written(f, b""), "too short for train, validation and test: it has 0 tokens"),
        (
            lambda f: {"tokens": shard(f / "a", IDS, count=1001)},
            "states 1,001 tokens, and the file has 1,000",
        ),
        (
            lambda f: {"tokens": shard(f / "a", IDS, version=2)},
            "version 2 of their header; 1 is known",
        ),
        (
            lambda f: {"tokens": shard(f / "a", IDS), "vocabulary_size": 612},
            "have the id 612, outside of the vocabulary of 612",
        ),
        (
            lambda f: {**written(f, IDS.astype(np.uint16).tobytes()), "token_type": "uint32"},
            "outside of any known vocabulary: uint32 may be wrong",
        ),
        (
            lambda f: {"tokens": shard(f / "a", IDS), "bytes_per_token": str(f / "none")},
            "has no whole number in each line",
        ),
        (
            lambda f: {"tokens": shard(f / "a", IDS), "bytes_per_token": table(f, [3] * 600)},
            "have the id 612, outside of the 600 lines of",
        ),
    ],
)
def test_what_is_no_file_token_task_is_one_sentence(tmp_path, make, why):
    task = LanguageModel(**make(tmp_path))
    with pytest.raises(UserError, match=why) as error:
        _ = task.max_length
    assert "\n" not in str(error.value)


def table(folder, lengths):
    file = folder / "lengths.txt"
    file.write_text("".join(f"{length}\n" for length in lengths))
    return str(file)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"tokens": "x", "path": "y"}, "got path='y', dataset=None and tokens='x'"),
        ({"tokens": "x", "within_documents": True}, "within_documents is of text"),
        ({"tokens": "x", "max_bytes": 9}, "max_bytes is of text"),
        ({"path": "x", "vocabulary_size": 9}, "vocabulary_size is of tokens"),
        ({"tokens": "x", "max_tokens": 0}, "must be at least 1"),
        ({"tokens": "x", "bytes_per_token": 0.0}, "bytes_per_token must be above 0"),
        ({"dataset": "stories", "on_demand": True}, "on_demand is of tokens, or of a path"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, why):
    with pytest.raises(ValueError, match=why):
        LanguageModel(**arguments)


def test_bytes_per_token_are_a_number_or_the_mean_of_a_table_over_each_split(tmp_path):
    file = shard(tmp_path / "a", [0] * 8 + [1] + [2])
    sizes = LanguageModel(tokens=file, bytes_per_token=4.5).corpus_sizes
    assert sizes["bytes_per_token"] == dict.fromkeys(SPLITS, 4.5)
    mixed = shard(tmp_path / "b", [0, 0, 0, 1] * 2 + [1] + [2])
    sizes = LanguageModel(tokens=mixed, bytes_per_token=table(tmp_path, [1, 5, 9])).corpus_sizes
    assert sizes["bytes_per_token"] == {"train": 2.0, "validation": 5.0, "test": 9.0}


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


def test_a_file_that_becomes_shorter_is_an_error_and_no_padding(tmp_path):
    task = of(tmp_path, b"x" * 100, on_demand=True)
    content = task._split_texts["train"].content
    (tmp_path / "text").write_bytes(b"x" * 50)
    with pytest.raises(UserError, match="is shorter than it was"):
        np.asarray(content[40:60])


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


def test_a_run_token_task_has_their_vocabulary(tmp_path):
    task = {"name": "language_model", "tokens": shard(tmp_path / "a", IDS)}
    setup = build_setup(tiny.run(task=task, layout__end_token=False))
    assert setup.layout.vocabularies(setup.task) == {"decoder": 613 + 5}


def test_types_token_task_are_those_of_the_task():
    assert set(_tokens.TYPES) == {"uint16", "uint32"}
