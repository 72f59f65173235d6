"""`pe-lab evaluate` refuses a mistake in one line and touches no record."""

import pytest

from tests.record_values import files

NUMBERS = (
    "pe-lab evaluate: --{} must be whole numbers of at least {} with commas between, "
    "as in 8,16,32, got "
)
LENGTHS, OFFSETS = NUMBERS.format("lengths", 1), NUMBERS.format("offsets", 0)

pytestmark = pytest.mark.slow  # all share a trained study


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["FOLDER"], "Which lengths? Give them in the task's unit: --lengths=8,16,32."),
        (
            ["FOLDER", "--lengths="],
            f"{LENGTHS}''.",
        ),
        (["FOLDER", "--lengths=4,x"], f"{LENGTHS}'4,x'."),
        (["FOLDER", "--lengths=0,4"], f"{LENGTHS}'0,4'."),
        (["FOLDER", "--lengths=4", "--offsets=-1"], f"{OFFSETS}'-1'."),
        (
            ["FOLDER", "--lengths=7"],
            "copy with these arguments has no examples longer than 6 symbols, got length 7",
        ),
        (
            ["FOLDER", "--lengths=4", "--positions=none"],
            "--positions takes one scheme, got 'none'.",
        ),
        (
            ["FOLDER", "--lengths=4", "--positions=shifted + normalized"],
            "--positions takes one scheme, got 'shifted + normalized'.",
        ),
        (
            ["FOLDER", "--lengths=4", "--encodings=rope(factor=4"],
            "'rope(factor=4' does not read like ",
        ),
        (
            ["FOLDER", "--lengths=4", "--select=seed"],
            "--select takes path=value, as in --select=seed=0, got 'seed'.",
        ),
        *(
            (
                ["FOLDER", "--lengths=4", f"--select=seed={value}"],
                "--select compares with texts, numbers, True, False, None or lists of them, got "
                f"{f'seed={value}'!r}.",
            )
            for value in ("...", "{1,2}")
        ),
        (["FOLDER", "--lengths=4", "--select==0"], "select has no ''. It has: "),
        (
            ["FOLDER", "--lengths=4", "--select=seed=0", "--select=seed=1"],
            "--select names 'seed' twice.",
        ),
        (
            ["FOLDER", "--lengths=4", "--select=model=x", "--select=model.width=9"],
            "--select names 'model.width' twice.",
        ),
        (
            ["FOLDER", "--lengths=4", "--select=model.width=9", "--select=model=x"],
            "--select names 'model' twice.",
        ),
    ],
)
def test_a_mistake_is_one_line_and_status_2_and_no_record_is_touched(
    call, trained, arguments, sentence
):
    before = files(trained)
    status, out, err = call(*(a.replace("FOLDER", str(trained)) for a in arguments))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: {sentence}".replace("FOLDER", str(trained)))
    assert files(trained) == before


def test_a_damaged_record_is_one_line_and_status_2(call, folder):
    next((folder / "records").iterdir()).write_text("{")
    status, out, err = call(str(folder), "--lengths=4")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert " is damaged (" in err


def test_without_a_study_file_nothing_is_measured(call, folder):
    (folder / "study.json").unlink()
    before = files(folder)
    status, out, err = call(str(folder), "--lengths=4")
    assert (status, out) == (2, "")
    assert err == f"error: There is no study in {folder}: {folder}/study.json is missing.\n"
    assert files(folder) == before
