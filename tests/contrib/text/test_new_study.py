"""`pe-lab new study`: a config for a text of the user, which runs as it is."""

import importlib.util

import pytest

from pe_lab import cli
from pe_lab.runs.errors import UserError


def text_folder(folder, size, count=10):
    """Documents of this many bytes; validation and test have a tenth of them each."""
    notes = folder / "notes"
    notes.mkdir()
    for number in range(count):
        (notes / f"{number}.txt").write_text(f"{number} ".ljust(size - 1, "x") + "\n")
    return notes


def module_of(file):
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("count", "size", "lengths", "within"),
    [
        (10, 512 + 255, (128, 256, 512), True),  # 256 windows in the document of a split
        (20, 512 + 127, (128, 256, 512), True),  # 128 windows in each of two documents
        (20, 512 + 126, (128, 256, 512), False),
        (10, 512 + 254, (64, 128, 256), False),
        (10, 256 + 254, (32, 64, 128), False),
        (10, 64 + 255, (16, 32, 64), False),
    ],
)
def test_lengths_are_those_of_which_the_text_has_enough_windows(
    tmp_path, monkeypatch, capsys, count, size, lengths, within
):
    monkeypatch.chdir(tmp_path)
    text_folder(tmp_path, size, count)
    assert cli.run(["new", "study", "mine", "--text=notes"]) == 0
    assert capsys.readouterr().out.startswith("wrote mine.py\n")
    study = module_of(tmp_path / "mine.py")
    config = study.get_config()
    assert config.evaluate.lengths == lengths
    assert (config.train.max_length, config.task.longest) == (lengths[0], lengths[-1])
    assert (config.task.path, config.task.within_documents) == ("notes", within)
    assert len(study.sweep()) == 24
    about = " ".join(study.__doc__.split())
    assert f"the last {lengths[0] // 2} bytes of each window" in about
    assert ("window, which stays within a document." in about) == within


def test_a_config_is_in_configs_if_there_is_this_folder_and_any_path_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    path = tmp_path / 'a "quoted" \\name $x.txt'
    path.write_text("é text \n" * 1000, encoding="utf-8")
    assert cli.run(["new", "study", "mine", f"--text={path}"]) == 0
    study = module_of(tmp_path / "configs" / "mine.py")
    assert study.get_config().task.path == str(path)
    assert f"The text is {path}." in study.__doc__
    assert "pe-lab sweep configs/mine.py" in study.__doc__


@pytest.mark.full
def test_a_written_study_trains_and_its_tables_have_bits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text_folder(tmp_path, 320)
    assert cli.run(["new", "study", "mine", "--text=notes"]) == 0
    small = ["--seeds=1", "--config.train.steps=4", "--config.evaluate.curve_every=2"]
    assert cli.run(["sweep", "mine.py", *small]) == 0
    page = (tmp_path / "results" / "mine" / "table.md").read_text(encoding="utf-8")
    assert page.startswith("# mine: bits per byte by length\n")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["study", "mine"], r"^A study needs --text=FOLDER, the text that it trains on\.$"),
        (["tasks", "mine", "--text=notes"], r"^--text is for a study only\.$"),
        (["tasks", "mine", "--kind=input"], r"^--kind is for encodings only\.$"),
        (["study", "mine", "--text=notes", "--kind=bias"], r"^--kind is for encodings only\.$"),
        (["study", "1x", "--text=notes"], "'1x' cannot name a Python module"),
        (["study", "mine", "--text=none"], "There is no file or folder of text at none"),
        (["study", "mine", "--text=empty"], "The folder empty holds no text"),
        (["study", "mine", "--text=binary"], "The text binary is not valid UTF-8"),
        (
            ["study", "mine", "--text=short"],
            "The text short is too short for a study: validation and test need 256 windows of 64",
        ),
        (["study", "numpy", "--text=notes"], "An installed module is named numpy"),
        (["study", "taken", "--text=notes"], r"taken\.py exists; take another name"),
    ],
)
def test_what_cannot_be_a_study_is_one_sentence_and_writes_nothing(
    tmp_path, monkeypatch, capsys, arguments, why
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken.py").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "binary").write_bytes(b"\xff" * 1000)
    (tmp_path / "short").write_text("x" * 500)
    if "--text=notes" in arguments:
        text_folder(tmp_path, 64)
    with pytest.raises(UserError, match=why):
        cli.run(["new", *arguments])
    assert [file.name for file in tmp_path.glob("*.py")] == ["taken.py"]
