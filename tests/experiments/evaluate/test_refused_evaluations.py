"""`pe-lab evaluate` refuses a mistake in one line and touches no record."""

import pytest

from tests.record_values import files

NUMBERS = (
    "pe-lab evaluate: --{} must be whole numbers of at least {} with commas between, "
    "as in 8,16,32, got "
)
LENGTHS, OFFSETS = NUMBERS.format("lengths", 1), NUMBERS.format("offsets", 0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["FOLDER"], "Which lengths? Give them in the task's unit: --lengths=8,16,32."),
        (
            ["FOLDER", "--lengths="],
            f"{LENGTHS}''.",
        ),
        (
            ["FOLDER", "--lengths=3", "--logit_temperature=ssmax"],
            "An evaluation override cannot change logit_temperature from 'none' to 'ssmax', "
            "because ssmax has parameters that are trained.",
        ),
        (["FOLDER", "--lengths=4,x"], f"{LENGTHS}'4,x'."),
        (["FOLDER", "--lengths=4;6"], f"{LENGTHS}'4;6'."),
        (["FOLDER", "--lengths=4.5"], f"{LENGTHS}'4.5'."),
        (["FOLDER", "--lengths=0,4"], f"{LENGTHS}'0,4'."),
        (["FOLDER", "--lengths=-4"], f"{LENGTHS}'-4'."),
        (["FOLDER", "--lengths=4", "--offsets=-1"], f"{OFFSETS}'-1'."),
        (["FOLDER", "--lengths=4", "--offsets=far"], f"{OFFSETS}'far'."),
        (["FOLDER", "--lengths=4", "--offsets="], f"{OFFSETS}''."),
        (
            ["FOLDER", "--lengths=7"],
            "copy with these arguments has no examples longer than 6 symbols, got length 7",
        ),
        (
            ["FOLDER/fak", "--lengths=4"],
            "There is no study in FOLDER/fak: FOLDER/fak/study.json is missing.",
        ),
        (
            ["exposur", "--lengths=4"],
            "The list of studies in results and results/published has no 'exposur'. "
            "Did you mean 'exposure'?",
        ),
        (
            ["FOLDER", "--lengths=4", "--positions=randomised"],
            "pe_lab/positions has no 'randomised'. Did you mean 'randomized'?",
        ),
        (
            ["FOLDER", "--lengths=4", "--positions=rope"],
            "pe_lab/positions has no 'rope'. ",
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
            ["FOLDER", "--lengths=4", "--positions=shifted(3)"],
            "'shifted(3)' does not read like ",
        ),
        (
            ["FOLDER", "--lengths=4", "--positions=shifted(max=3)"],
            "shifted has no 'max'. Did you mean 'max_shift'? It has: max_shift.",
        ),
        (["FOLDER", "--lengths=4", "--encodings="], "'' does not read like "),
        (
            ["FOLDER", "--lengths=4", "--encodings=rope(factor=4"],
            "'rope(factor=4' does not read like ",
        ),
        (
            ["FOLDER", "--lengths=4", "--encodings=rope(factr=4)"],
            "rope has no 'factr'. Did you mean 'factor'?",
        ),
        (
            ["FOLDER", "--lengths=4", "--encodings=rope(scaling=yarm, factor=4)"],
            "rope's scaling has no 'yarm'. Did you mean 'yarn'?",
        ),
        (
            ["FOLDER", "--lengths=4", "--encodings=rope(scaling=yarn, factor=4)"],
            "RoPE's scaling 'yarn' needs trained_length, ",
        ),
        (
            ["FOLDER", "--lengths=4", "--encodings=learned(max_positions=9)"],
            "learned has parameters that the run ",
        ),
        (
            ["FOLDER", "--lengths=4", "--encodings=contiguous"],
            "pe_lab/encodings has no 'contiguous'. ",
        ),
        (
            ["FOLDER", "--lengths=4", "--select=seed"],
            "--select takes path=value, as in --select=seed=0, got 'seed'.",
        ),
        (
            ["FOLDER", "--lengths=4", "--select=sed=0"],
            "select has no 'sed'. Did you mean 'seed'?",
        ),
        *(
            (
                ["FOLDER", "--lengths=4", f"--select=seed={value}"],
                "--select compares with texts, numbers, True, False, None or lists of them, got "
                f"{f'seed={value}'!r}.",
            )
            for value in ("...", "{1,2}", "[0,(b'a',)]", "1j", "{1:2,'a':3}")
        ),
        (
            ["FOLDER", "--lengths=4", "--encodings=rope(base={1,2})"],
            "'rope(base={1,2})' does not read like ",
        ),
        (["FOLDER", "--lengths=4", "--select==0"], "select has no ''. It has: "),
        (
            ["FOLDER", "--lengths=4", "--select=model.encoding=rope"],
            "select.model has no 'encoding'. Did you mean 'encodings'?",
        ),
        (
            ["FOLDER", "--lengths=4", "--select=seed=2"],
            "The selection matches none of the 2 finished runs in FOLDER.",
        ),
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
        (
            ["FOLDER", "--lenghts=4"],
            "pe-lab evaluate has no '--lenghts'. Did you mean '--lengths'?",
        ),
        (["FOLDER", "--lengths=4", "6"], "pe-lab evaluate takes no further argument, got '6'."),
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
