"""Files of token ids."""

import itertools
import math
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

from pe_lab.contrib.text.data import _tokens
from pe_lab.runs.errors import UserError
from pe_lab.tasks.language_model import LanguageModel
from pe_lab.training.build import build_setup
from tests import tiny

ROOT = Path(__file__).parents[3]
SPLITS = ("train", "validation", "test")
IDS = np.arange(1000) * 7 % 613


def header(magic, version=1, count=0):
    words = np.zeros(256, np.int32)
    words[:3] = magic, version, count
    return words.tobytes()


def shard(file, ids, magic=20240520, version=1, count=None, kind=np.uint16):
    count = len(ids) if count is None else count
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(header(magic, version, count) + np.asarray(ids, kind).tobytes())
    return str(file)


def ids_of(task):
    """The tokens of each split."""
    ids = {}
    for split in SPLITS:
        data = task.data(split)
        ids[split] = data["content"][: data["size"]].tolist()
    return ids


NUMPY = b"\x93NUMPY" + bytes(200)
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


def test_a_tilde_is_the_home_folder_in_each_path(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    shard(tmp_path / "ids", [0, 1] * 50)
    table(tmp_path, [2, 2])
    task = LanguageModel(tokens="~/ids", bytes_per_token="~/lengths.txt")
    assert task.corpus_sizes["bytes_per_token"] == dict.fromkeys(SPLITS, 2.0)
    (tmp_path / "notes.txt").write_text("text " * 40)
    data_dir = str(tmp_path / "sets")
    for on_demand in (False, True):
        task = LanguageModel(path="~/notes.txt", data_dir=data_dir, on_demand=on_demand)
        assert task.max_length == 21


def test_names_state_the_splits_and_the_end_of_training_replaces_a_missing_one(tmp_path):
    shard(tmp_path / "fineweb_train_000001.bin", range(100))
    shard(tmp_path / "fineweb_train_000002.bin", range(100, 200))
    shard(tmp_path / "fineweb_val_000000.bin", range(200, 230))
    ids = ids_of(LanguageModel(tokens=str(tmp_path), splits="named"))
    assert ids["train"] == [*range(190)]
    assert ids["validation"] == [*range(200, 230)]
    assert ids["test"] == [*range(190, 200)]


def test_only_files_of_tokens_that_are_not_hidden_are_shards(tmp_path):
    shard(tmp_path / "train.bin", range(40))
    (tmp_path / "train.txt").write_text("some text of train")
    np.save(tmp_path / "train.npy", np.arange(9, dtype=np.uint16))
    shard(tmp_path / "val" / "a.bin", range(50, 60))
    shard(tmp_path / "val" / ".cache" / "b.bin", range(60, 70))
    (tmp_path / "val" / "c.bin").mkdir()
    ids = ids_of(LanguageModel(tokens=str(tmp_path), splits="named"))
    assert ids["train"] + ids["test"] == [*range(40)]
    assert ids["validation"] == [*range(50, 60)]


def test_a_link_to_a_folder_of_shards_is_followed_and_one_to_nothing_refused(tmp_path):
    shard(tmp_path / "elsewhere" / "b.bin", range(20, 40))
    shard(tmp_path / "shards" / "a.bin", range(20))
    (tmp_path / "shards" / "more").symlink_to(tmp_path / "elsewhere")
    task = LanguageModel(tokens=str(tmp_path / "shards"))
    assert [*itertools.chain(*ids_of(task).values())] == [*range(40)]
    (tmp_path / "shards" / "c.bin").symlink_to(tmp_path / "nothing")
    with pytest.raises(UserError, match=r"^There is no file or folder of text at .*/c\.bin\.$"):
        ids_of(LanguageModel(tokens=str(tmp_path / "shards")))


@pytest.mark.parametrize("ids", [[7, 25] * 500, [0] * 1000, [9, 309] * 500, [900, 3] * 5])
def test_plain_ids_that_look_like_halves_or_like_a_magic_number_are_read(tmp_path, ids):
    task = LanguageModel(**written(tmp_path, np.array([*ids, 20, 25], np.uint16).tobytes()))
    assert [*itertools.chain(*ids_of(task).values())] == [*ids, 20, 25]


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
        (lambda f: written(f, b""), "are an empty file"),
        (lambda f: written(f, NUMPY), "a file of NumPy; write its ids by array"),
        (lambda f: {"tokens": shard(f / "a", IDS, 20240522)}, r"not known \(20240522\)"),
        (lambda f: {"tokens": shard(f / "a", IDS, 12345)}, r"cut or not known \(12345\)"),
        (lambda f: written(f, header(20240520)[:1020]), r"that is cut or not known \(20240520\)"),
        (lambda f: written(f, header(20240801)[:6]), r"that is cut or not known \(20240801\)"),
        (lambda f: written(f, (IDS * 99).astype("<u4").tobytes()), 'set token_type="uint32"'),
        (lambda f: written(f, (IDS % 9).astype("<u4").tobytes()), 'set token_type="uint32"'),
        (lambda f: written(f, IDS.tobytes()), "ids of 64 bits: write them by array"),
        (
            lambda f: {**written(f, IDS.tobytes()), "token_type": "uint32"},
            "ids of 64 bits: write them by array",
        ),
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
            "none' cannot be read",
        ),
        (
            lambda f: {"tokens": shard(f / "a", IDS), "bytes_per_token": "a\0b"},
            "cannot be read .embedded null byte",
        ),
        (
            lambda f: {
                "tokens": shard(f / "a", IDS),
                "bytes_per_token": table(f, [*[3] * 9, "", 4]),
            },
            "has no whole number in line 10",
        ),
        (
            lambda f: {"tokens": shard(f / "a", IDS), "bytes_per_token": table(f, [3, -1])},
            "has no whole number in line 2",
        ),
        (
            lambda f: {"tokens": shard(f / "a", IDS), "bytes_per_token": table(f, [0] * 613)},
            "tokens of a split have no bytes",
        ),
        (
            lambda f: {"tokens": shard(f / "a", IDS), "bytes_per_token": table(f, [3] * 600)},
            "have the id 612, outside of the 600 lines of",
        ),
    ],
)
def test_what_is_no_file_of_tokens_is_one_sentence(tmp_path, make, why):
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
        ({"tokens": "x", "bytes_per_token": math.inf}, "bytes_per_token must be above 0"),
        ({"tokens": "x", "bytes_per_token": math.nan}, "bytes_per_token must be above 0"),
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
    first = LanguageModel(
        tokens=mixed, bytes_per_token=table(tmp_path, [1, 5, 9]), max_tokens=3
    ).corpus_sizes
    assert first["bytes_per_token"] == {"train": 1.0, "validation": 5.0, "test": 9.0}


def test_a_run_of_tokens_has_their_vocabulary(tmp_path):
    task = {"name": "language_model", "tokens": shard(tmp_path / "a", IDS)}
    setup = build_setup(tiny.run(task=task, layout__end_token=False))
    assert setup.layout.vocabularies(setup.task) == {"decoder": 613 + 5}


def test_types_of_tokens_are_those_of_the_task():
    token_type = typing.get_type_hints(LanguageModel)["token_type"]
    assert tuple(_tokens.TYPES) == typing.get_args(token_type)


WITHOUT_TFDS = """
import sys
sys.modules["tensorflow_datasets"] = None
from pe_lab.runs.errors import UserError
from pe_lab.tasks.language_model import LanguageModel
ids, text, data_dir = sys.argv[1:]
for task in (
    LanguageModel(tokens=ids),
    LanguageModel(tokens=ids, on_demand=True),
    LanguageModel(path=text, on_demand=True),
    LanguageModel(path=text, data_dir=data_dir),
):
    print(task.corpus.partition("/")[0], task.max_length, int(task.data("train")["size"]))
for arguments in ({"path": data_dir}, {"dataset": "stories"}):
    try:
        LanguageModel(**arguments, data_dir=data_dir).data("train")
    except UserError as error:
        print(error)
"""


@pytest.mark.slow
def test_tokens_and_plain_files_need_no_tfds_and_other_texts_say_that_they_do(tmp_path):
    (tmp_path / "text").write_bytes(b"x" * 100)
    arguments = [shard(tmp_path / "ids", IDS), str(tmp_path / "text"), str(tmp_path)]
    process = subprocess.run(
        [sys.executable, "-c", WITHOUT_TFDS, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    needs = "Text needs tensorflow-datasets: pip install 'pe_lab[text]'."
    assert process.stdout.splitlines() == [
        "tokens 100 800",
        "tokens 100 800",
        "corpus 11 81",
        "corpus 11 81",
        needs,
        needs,
    ]
