import gzip
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from pe_lab.data import builders, files, sources, text
from pe_lab.runs.errors import UserError

ROOT = Path(__file__).parents[2]
SPLITS = ("train", "validation", "test")


def write(folder, files):
    """name -> text or bytes."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def texts(rows):
    return {split: [row["text"] for row in of_split] for split, of_split in rows.items()}


def test_documents_fall_into_splits_by_their_content_whatever_their_names(tmp_path):
    contents = [f"document {i}\n" for i in range(30)]
    plain = sources.documents(
        write(tmp_path / "a", {f"{i}.txt": c for i, c in enumerate(contents)})
    )
    renamed = sources.documents(
        write(tmp_path / "b", {f"deep/{29 - i}.md": c for i, c in enumerate(contents)})
    )
    assert plain == renamed
    assert {split: len(rows) for split, rows in plain.items()} == {
        "train": 24,
        "validation": 3,
        "test": 3,
    }
    assert sorted(t.decode() for of_split in texts(plain).values() for t in of_split) == sorted(
        contents
    )


def test_equal_documents_are_one_and_empty_and_hidden_files_none(tmp_path):
    files = {
        "a": "one",
        "b": "two",
        "c": "three",
        "d": "one",
        "d2": "one\n",  # a task adds the final line break of the others
        "e": "",
        "f": " \n",
        ".hidden": "four",
        ".git/x": "five",
    }
    found = texts(sources.documents(write(tmp_path, files)))
    assert sorted(t for of_split in found.values() for t in of_split) == [b"one", b"three", b"two"]


def test_one_file_is_cut_by_place_between_characters(tmp_path):
    (tmp_path / "all.txt").write_text(
        "abcdefghi" + "é" * 5 + "z"
    )  # of 20 bytes 16 and 18 are inside an é
    found = texts(sources.documents(tmp_path / "all.txt"))
    assert [found[split][0].decode() for split in SPLITS] == ["abcdefghiéééé", "é", "z"]


@pytest.mark.parametrize(
    ("files", "name", "why"),
    [
        ({}, "nowhere", "There is no file or folder of text at .*nowhere"),
        ({"x/.keep": ""}, "x", "The folder .*x holds no text"),
        (
            {"a": "1", "b": "2", "c": "2"},
            "",
            "2 different documents: train, validation and test need at least one each",
        ),
        (
            {"a": "1", "b": "2", "c": b"ab\xff"},
            "",
            "c is not valid UTF-8 \\(invalid byte at offset 2\\)",
        ),
        ({"a": "xy"}, "a", "a is too short for train, validation and test: it has 2 bytes"),
    ],
)
def test_bad_documents_are_one_sentence(tmp_path, files, name, why):
    with pytest.raises(UserError, match=why):
        sources.documents(write(tmp_path, files) / name)


def test_sizes_in_bytes_cut_exactly_as_enwik8_is_cut(tmp_path):
    (tmp_path / "enwik").write_text("é" * 100)
    rows = sources.documents(tmp_path / "enwik", splits=(91, 5, 3))  # the last byte is unused
    whole = ("é" * 100).encode()
    assert [rows[split][0]["text"] for split in SPLITS] == [whole[:91], whole[91:96], whole[96:99]]


def test_names_of_files_and_folders_state_the_splits(tmp_path):
    files = {"wiki.train.txt": "a", "wiki.valid.txt": "b", "test/2": "d", "test/1": "c", "x": "y"}
    files |= dict.fromkeys((".train.txt.swp", "._valid.txt", ".test/1", "test/.3"), "hidden")
    rows = sources.documents(write(tmp_path, files), splits="named")
    assert texts(rows) == {"train": [b"a"], "validation": [b"b"], "test": [b"c", b"d"]}


def test_every_format_gives_the_same_documents(tmp_path):
    documents = [f"dé {i}" for i in range(10)]
    lines = "".join(json.dumps({"body": text}) + "\n" for text in documents).encode()
    write(tmp_path / "plain", {f"{i}": text for i, text in enumerate(documents)})
    write(tmp_path, {"a.jsonl": lines, "b.jsonl.gz": gzip.compress(lines)})
    with pyarrow.output_stream(str(tmp_path / "c.jsonl.zst")) as stream:
        stream.write(lines)
    parquet.write_table(pyarrow.table({"body": documents}), tmp_path / "d.parquet")
    plain = sources.documents(tmp_path / "plain")
    for name in ("a.jsonl", "b.jsonl.gz", "c.jsonl.zst", "d.parquet"):
        assert sources.documents(tmp_path / name, "body") == plain
    write(tmp_path, {"all.txt": "é" * 100, "all.txt.gz": gzip.compress(("é" * 100).encode())})
    cut = sources.documents(tmp_path / "all.txt")
    assert sources.documents(tmp_path / "all.txt.gz") == cut


@pytest.mark.parametrize(
    ("files", "name", "arguments", "why"),
    [
        ({"a": "1" * 9}, "a", {"splits": (4, 5, 1)}, "test of 4, 5, 1 bytes: it has 9 bytes"),
        ({"a.jsonl": "{}"}, "a.jsonl", {"splits": (1, 1, 1)}, "cuts one file of plain text"),
        ({"train": "1", "dev": "2"}, "", {"splits": "named"}, "no file or folder of test by its"),
        ({"train-test.txt": "1"}, "", {"splits": "named"}, "two splits in its name: train, test"),
        ({"a": "1"}, "a", {"splits": "named"}, "splits='named' reads a folder"),
        ({"a.jsonl": '{"text": "1"}\nx'}, "a.jsonl", {}, "Line 2 of .*a.jsonl is not JSON"),
        ({"a.jsonl": "[" * 100_000}, "a.jsonl", {}, "Line 1 of .*a.jsonl is not JSON .*recursion"),
        ({"a.jsonl": '{"text": 1}'}, "a.jsonl", {}, "no text 'text' in its line or row 1"),
        ({"a.gz": "no"}, "a.gz", {}, "a.gz cannot be read"),
        ({"a.zst": "no"}, "a.zst", {}, "a.zst cannot be read"),
        ({"a.parquet": "no"}, "a.parquet", {}, "a.parquet cannot be read"),
    ],
)
def test_bad_splits_and_formats_are_one_sentence(tmp_path, files, name, arguments, why):
    with pytest.raises(UserError, match=why):
        sources.documents(write(tmp_path, files) / name, **arguments)


def test_a_text_of_parquet_that_is_not_utf8_is_one_sentence(tmp_path):
    array = pyarrow.array([b"a", b"\xff"])
    texts = pyarrow.Array.from_buffers(pyarrow.string(), len(array), array.buffers())
    parquet.write_table(pyarrow.table({"text": texts}), tmp_path / "a.parquet")
    with pytest.raises(UserError, match=r"a.parquet cannot be read \('utf-8' codec can't decode"):
        list(files.documents(tmp_path / "a.parquet"))


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.zst", "a.jsonl.gz", "a.parquet"])
def test_a_small_file_that_decompresses_to_a_large_text_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr(files, "_SMALL", 1_000)
    if name == "a.parquet":
        table = pyarrow.table({"text": ["a" * 1_000] * 1_000})
        parquet.write_table(table, tmp_path / name, compression="zstd")
    else:
        with pyarrow.output_stream(str(tmp_path / name)) as stream:
            stream.write(b'{"text": "a"}\n' * 100_000)
    limit = max(1_000, 100 * (tmp_path / name).stat().st_size)
    why = f"{name} has more than {limit:,} bytes when it is decompressed, 100 times its own"
    with pytest.raises(UserError, match=why):
        list(files.documents(tmp_path / name))


ROWS = {
    "train": [{"text": "né\n".encode()}, {"text": b"b"}, {"text": b"a"}],
    "validation": [{"text": b"v"}],
    "test": [{"text": b"t" * 70_000}],
}


def test_what_is_prepared_is_read_back_in_its_order_and_written_once(tmp_path, monkeypatch):
    name = text.prepare(ROWS, tmp_path)
    monkeypatch.setattr(text, "_AT_ONCE", 2)
    assert {
        split: [t for (t,) in rows] for split, rows in text.read(name, tmp_path).items()
    } == texts(ROWS)
    monkeypatch.setattr(
        builders.Corpus,
        "download_and_prepare",
        lambda *args, **kwargs: pytest.fail("it is written again"),
    )
    assert text.prepare(ROWS, tmp_path) == name
    assert text.names(tmp_path) == [name]
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


TEXT = "tensorflow_datasets.core.features.text_feature.Text"
NESTED = {
    "pythonClassName": "tensorflow_datasets.core.features.features_dict.FeaturesDict",
    "featuresDict": {"features": {"text": {"pythonClassName": "canary.X", "text": {}}}},
}
LEGACY = {"type": "canary.X", "content": {}}


@pytest.mark.parametrize(
    ("file", "change"),
    [
        (
            "features.json",
            lambda content: json.loads(json.dumps(content).replace(TEXT, "canary.X")),
        ),
        ("features.json", lambda content: {**content, "pythonClassName": "canary.X"}),
        ("features.json", lambda content: LEGACY),
        ("dataset_info.json", lambda content: {**content, "features": NESTED}),
    ],
    ids=["nested", "whole", "legacy", "info"],
)
def test_the_files_of_a_set_import_nothing_by_its_name(tmp_path, monkeypatch, file, change):
    name = text.prepare(ROWS, tmp_path)
    path = tmp_path / name / "1.0.0" / file
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    (tmp_path / "canary.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match=r"class canary\.X, which is not of tensorflow_datasets"):
        text.read(name, tmp_path)
    assert "canary" not in sys.modules


@pytest.mark.parametrize("content", ["", '{"splits": 5}', '{"name": null}', "[" * 100_000])
def test_a_damaged_description_of_a_set_is_one_sentence(tmp_path, content):
    name = text.prepare(ROWS, tmp_path)
    (tmp_path / name / "1.0.0" / "dataset_info.json").write_text(content)
    with pytest.raises(UserError, match=f"^'{name}' is no data set that can be read: "):
        text.read(name, tmp_path)


def test_a_damaged_corpus_is_to_be_prepared_again(tmp_path):
    name = text.prepare(ROWS, tmp_path)
    (tmp_path / name / "1.0.0" / "corpus-test.array_record-00000-of-00001").write_bytes(b"")
    with pytest.raises(UserError, match="remove its folder, and prepare the text again"):
        text.read(name, tmp_path)
    shutil.rmtree(tmp_path / name)
    assert text.read(text.prepare(ROWS, tmp_path), tmp_path)["validation"] == [(b"v",)]


def test_nothing_is_left_in_the_temporary_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    text.read(text.prepare(ROWS, tmp_path), tmp_path)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_another_content_or_split_has_another_name(tmp_path):
    moved = {**ROWS, "validation": ROWS["test"], "test": ROWS["validation"]}
    joined = {**ROWS, "train": [{"text": "né\nb".encode()}, {"text": b"a"}]}
    assert len({text.prepare(rows, tmp_path) for rows in (ROWS, moved, joined)}) == 3


def test_a_disk_without_room_is_one_sentence_and_nothing_is_left(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))  # bytes of a file
    try:
        with pytest.raises(UserError, match=r"cannot be written \(.*File too large.*data_dir=FOLD"):
            text.prepare(ROWS, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []
    assert text.read(text.prepare(ROWS, tmp_path), tmp_path)["validation"] == [(b"v",)]


def test_the_later_of_two_that_prepare_at_once_leaves_the_first_ones(tmp_path, monkeypatch):
    alone = builders.Corpus.download_and_prepare

    def overtaken(self, **kwargs):
        alone(self, **kwargs)
        monkeypatch.setattr(builders.Corpus, "download_and_prepare", alone)
        text.prepare(ROWS, tmp_path)  # another process comes here first
        (there,) = tmp_path.glob("corpus/*/1.0.0")
        (there / "mark").touch()

    monkeypatch.setattr(builders.Corpus, "download_and_prepare", overtaken)
    name = text.prepare(ROWS, tmp_path)
    assert (tmp_path / name / "1.0.0" / "mark").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


PROGRAM = """
import sys
import tempfile
from pathlib import Path
from pe_lab.data import text
from pe_lab.tasks.language_model import LanguageModel
found = LanguageModel(path="README.md", data_dir=sys.argv[1]).data("train")["content"].tobytes()
begins = Path("README.md").read_bytes().startswith(found[:-1])
row = {f"language {i}": b"yes" for i in range(9)}
text.prepare(dict.fromkeys(("train", "validation", "test"), [row]), Path(sys.argv[2]))
print(begins, "tensorflow" in sys.modules, "tensorflow_datasets" in sys.modules)
"""


@pytest.mark.full
def test_two_processes_at_once_prepare_equal_bytes_and_read_without_tensorflow_and_say_nothing(
    tmp_path,
):
    """A cell's standard output is its events. The first folder is for both, another for each."""
    own = [tmp_path / "a", tmp_path / "b"]
    command = [sys.executable, "-W", "error", "-c", PROGRAM, str(tmp_path / "both")]
    both = [
        subprocess.Popen(
            [*command, str(f)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for f in own
    ]
    for process in both:
        assert process.communicate() == ("True False True\n", "")
    one, other = (
        {p.relative_to(f): p.read_bytes() for p in f.rglob("*") if p.is_file()} for f in own
    )
    assert one == other
    assert len(one) > 3


def test_a_set_without_validation_or_test_gives_the_end_of_its_training(tmp_path):
    every = [{"text": str(i).encode()} for i in range(100)]
    name = text.prepare({"train": every}, tmp_path)
    found = {split: [int(t) for (t,) in rows] for split, rows in text.read(name, tmp_path).items()}
    assert (found["train"], found["test"], found["validation"]) == (
        [*range(90)],
        [*range(90, 95)],
        [*range(95, 100)],
    )
    name = text.prepare({"train": every, "test": ROWS["test"]}, tmp_path)
    assert [len(text.read(name, tmp_path)[split]) for split in SPLITS] == [95, 5, 1]
    name = text.prepare({"train": every[:3]}, tmp_path)
    with pytest.raises(UserError, match=r"has nothing in train\[95%:100%\]"):
        text.read(name, tmp_path)


def test_no_example_is_read_behind_the_most_bytes(tmp_path):
    name = text.prepare(ROWS, tmp_path)
    splits = text.read(name, tmp_path, max_bytes=4)
    assert [len(splits[split]) for split in SPLITS] == [1, 1, 1]
    assert len(text.read(name, tmp_path, max_bytes=5)["train"]) == 2


def test_features_are_the_named_ones_or_the_text(tmp_path):
    both = {split: [{"de": b"ja", "en": b"yes"}] for split in SPLITS}
    name = text.prepare(both, tmp_path)
    assert text.read(name, tmp_path, ("en", "de"))["test"] == [(b"yes", b"ja")]
    with pytest.raises(
        UserError, match="needs one feature of text, or one called 'text'; it has: de, en"
    ):
        text.read(name, tmp_path)
    with pytest.raises(UserError, match=f"{name} has no 'fr'"):
        text.read(name, tmp_path, ("en", "fr"))
    named = text.prepare({split: [{"text": b"t", "title": b"x"}] for split in SPLITS}, tmp_path)
    assert text.read(named, tmp_path)["train"] == [(b"t",)]


def test_what_cannot_be_read_is_one_sentence(tmp_path):
    name = text.prepare(ROWS, tmp_path)
    with pytest.raises(UserError, match=f"has no 'corpus/0'. Did you mean '{name}'"):
        text.read("corpus/0", tmp_path)
    info = tmp_path / name / "1.0.0" / "dataset_info.json"
    info.write_text(json.dumps({**json.loads(info.read_text()), "fileFormat": "tfrecord"}))
    shutil.copytree(tmp_path / name, tmp_path / "other")
    with pytest.raises(
        UserError, match=r"^other cannot be read without TensorFlow .*file_format='array_record'"
    ):
        text.read("other", tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(
        UserError, match=r"file cannot be written .*: data_dir=FOLDER names another"
    ):
        text.prepare(ROWS, tmp_path / "file")


def test_the_error_without_tfds_names_the_installation():
    program = "import sys; sys.modules['tensorflow_datasets'] = None; import pe_lab.data.text"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr.strip().endswith(
        "UserError: Text needs tensorflow-datasets: pip install 'pe_lab[text]'."
    )
