"""`pe-lab inspect` as a user runs it."""

import csv
import json

import pytest

from tests import tiny
from tests.experiments.entry_points import call, refused

SMALL = ("--length=8", "--width=16", "--num-heads=2")


@pytest.mark.full
def test_a_scorecard_is_printed_and_everything_is_written(tmp_path):
    asked = ("single_sine", "rope(base=500.0)", "tests.contrib.inspection.user_encodings:Parity")
    done = call("inspect", *asked, *SMALL, f"--out={tmp_path}/seen")
    assert (done.returncode, done.stderr) == (0, "")
    header, _, *rows = [line for line in done.stdout.split("\n") if line.startswith("|")]
    assert [line.split("|")[1].strip() for line in (header, *rows)] == [
        "encoding",
        "single_sine",
        "rope(base=500.0)",
        "tests.contrib.inspection.user_encodings:Parity",
    ]
    assert f"scorecard  {tmp_path}/seen/scorecard.md" in done.stdout
    stems = {path.stem for path in (tmp_path / "seen").glob("*.png")}
    assert stems == {
        "single_sine",
        "rope_base_500_0",
        "tests_contrib_inspection_user_encodings_Parity",
        "paths",
        "similarities",
    }
    lines = (tmp_path / "seen" / "scorecard.csv").read_text().splitlines()
    verdicts = {row["encoding"]: row["unique"] for row in csv.DictReader(lines)}
    assert verdicts == {
        "single_sine": "no",
        "rope(base=500.0)": "yes",
        "tests.contrib.inspection.user_encodings:Parity": "no",
    }


@pytest.mark.full
def test_a_scheme_may_give_the_positions_and_one_asked_twice_is_shown_once(tmp_path):
    done = call(
        "inspect",
        "raw_index",
        "raw_index",
        "--positions=normalized",
        *SMALL,
        f"--out={tmp_path}",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("| raw_index of normalized | yes 0  | yes 0.00 | no ") == 1


@pytest.mark.full
def test_an_encoding_that_names_its_own_scheme_is_shown_with_it(tmp_path):
    encodings = "raw_index(positions=normalized),raw_index"
    done = call("inspect", encodings, *SMALL, f"--out={tmp_path}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("| raw_index of normalized | ") == 1
    assert done.stdout.count("| raw_index  ") == 1


@pytest.mark.full
def test_a_trained_run_is_taken_apart(tmp_path):
    group = tiny.group(
        "rope",
        seeds=1,
        train__steps=2,
        model__num_layers=1,
        evaluate__num_examples=4,
        checkpoints__keep_curve=True,
    )
    tiny.train(tmp_path / "study", group)
    named = (f"{tmp_path}/study", f"--run={group.run.run_id}")
    seen = (
        tmp_path / "study" / "inspect" / group.run.run_id
    )  # a folder of its own, unless --out names one
    seen.mkdir(parents=True)
    for name in (
        "trained_attention_decoder_9.png",
        "rope.png",
        "trained.md",
    ):  # an earlier run's, an encoding's, and the page of the earlier run
        (seen / name).touch()
    done = call("inspect", *named, "--lengths=2,4")
    assert (done.returncode, done.stderr) == (0, "")
    assert "| nothing |" in done.stdout
    assert f"run        {seen}/trained.md, {seen}/trained.json" in done.stdout
    found = json.loads((seen / "trained.json").read_text())
    assert (found["run"]["run_id"], found["run"]["lengths"]) == (group.run.run_id, [2, 4])
    assert [row["state"]["step"] for row in found["course"]["terms"]] == [0, 0, 2, 2]
    assert (seen / "trained_attention_decoder_4.png").exists()
    assert (seen / "trained_through_training.png").exists()
    assert not (seen / "trained_attention_decoder_9.png").exists()  # the page does not show it
    assert (seen / "rope.png").exists()
    sentence = refused("inspect", *named, "--other-run=x", f"--out={tmp_path}/none")
    assert "--other-run prints its table" in sentence
    sentence = refused("inspect", *named, "--lengths=7", f"--out={tmp_path}/none")
    assert "has no examples of length 7" in sentence
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            (),
            "Which encodings, or which run? "
            "pe-lab inspect sinusoidal rope, or pe-lab inspect quickstart --run=RUN_ID.",
        ),
        (("rope", "--lengths=8"), "--lengths needs --run."),
        (
            ("nowhere", "--run=0123456789abcdef", "--length=64"),
            "--length is for encodings. A run takes --lengths.",
        ),
        (
            ("nowhere", "--run=0123456789abcdef", "--positions=normalized"),
            "--positions is for encodings. A run takes --lengths.",
        ),
        (
            ("results/nowhere", "--run=nowhere/0123456789abcdef"),
            "--run takes the id of a run, got 'nowhere/0123456789abcdef'.",
        ),
        (("--run=0123456789abcdef",), "Which encodings, or which run?"),
        (("a", "b", "--run=0123456789abcdef"), "--run needs one study, got a b."),
        (("a", "--run="), "--run takes the id of a run, got ''."),
        (("nowhere", "--run=0123456789abcdef"), "results and results/published has no 'nowhere'"),
        (
            ("results/nowhere", "--run=0123456789abcdef"),
            "There is no run 0123456789abcdef in results/nowhere.",
        ),
        (
            ("nowhere", "--run=0123456789abcdef", "--lengths=a"),
            "--lengths must be whole numbers of at least 1 with commas between",
        ),
        (("sinus",), "pe_lab/encodings has no 'sinus'. Did you mean 'sinusoidal'?"),
        (("rope(bas=2)",), "rope has no 'bas'. Did you mean 'base'?"),
        (
            ("rope + alibi",),
            "does not read like 'sinusoidal, rope(base=5e5), my.module:Mine'",
        ),
        (
            ("learned(max_positions=8)",),
            "has no more than 8 positions, and the length is 64",
        ),
        (("rope", "--width=10"), "must be a multiple of the heads"),
        (("rope", "--length=0"), "length"),
        (
            ("rope", "--positions=normal"),
            "pe_lab/positions has no 'normal'. Did you mean 'normalized'?",
        ),
        (("rope", "--positions=contiguous, shifted"), "--positions takes one scheme"),
        (("chunks",), "chunks needs size"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(arguments, says, tmp_path):
    assert says in refused("inspect", *arguments, f"--out={tmp_path}/none")
    assert not (tmp_path / "none").exists()
