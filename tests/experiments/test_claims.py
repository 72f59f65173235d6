"""Claims of papers on pages, of a study made by hand."""

import functools

import pytest

from docs.build import numbers, reproductions
from docs.build.published import STUDIES
from experiments import claims, published
from pe_lab.contrib.papers import reproduction
from pe_lab.results import frame
from pe_lab.results.plots import drawing
from pe_lab.runs.errors import UserError
from tests.results.fake_study import point, record, write_study
from tests.results.test_text_study import text_record

CLAIMS = [
    {"text": "RoPE extends further.", "a": "rope", "b": "alibi", "figures": [0.8, 0.3]},
    {"text": "ALiBi extends further.", "a": "alibi", "b": "rope"},
    {"text": "RoPE extends further than FIRE.", "a": "rope", "b": "fire"},
]
AT_TWICE = {"rope": 0.9, "alibi": 0.5, "fire": 0.2}


def publish(root):
    entries = []
    for name, value in AT_TWICE.items():
        solved = 0.3 if name == "fire" else 1.0
        for seed in range(5):
            tests = {4: 1.0, 8: value + seed / 100}
            run = record(f"{name}{seed}", seed, test=tests, validation={4: solved})
            entries.append((point(name, seed), run))
    folder = root / STUDIES / "doe_scaled"
    folder.mkdir(parents=True)
    analysis = {"reproduction": {"paper": "Doe 2024", "claims": CLAIMS}}
    write_study(folder, *entries, name="doe_scaled", analysis=analysis)
    for name in ("doe", "roe", "forms"):
        config = root / "configs" / "papers" / f"{name}.py"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.touch()


def test_a_row_has_the_numbers_of_the_paper_and_ours_and_the_verdict(tmp_path):
    publish(tmp_path)
    page = reproductions.lookups(tmp_path, lambda name: published.lookups(tmp_path, name))
    counts = ("num_claims", "num_scaled", "num_authors_size", "num_failing", "num_undecided")
    assert [page[name] for name in counts] == ["3", "1", "0", "1", "1"]
    assert page["num_unsolved"] == "1"
    assert {claim["paper"] for claim in page["claims"]} == {"Doe 2024"}
    holds, fails, undecided = page["sections"].splitlines()[-3:]
    assert "| **holds, scaled** |" in holds
    assert holds.endswith("| 0.80 and 0.30 | 0.92 and 0.52 | +0.40 [+0.40, +0.40] | 5 and 5 |")
    assert "| – | 0.52 and 0.92 |" in fails
    assert "**does not hold**" in fails
    assert "**undecided**: fire did not solve the training lengths" in undecided
    assert page["missing"] == "[roe](../configs/papers/roe.py)"
    assert [claim["claim"] for claim in page["claims"]] == [claim["text"] for claim in CLAIMS]
    verdicts = [claim["verdict"] for claim in page["claims"]]
    assert verdicts == ["holds, scaled", "does not hold", "undecided"]
    assert page["claims"][0]["a − b"] == "+0.40 [+0.40, +0.40]"
    assert page["claims"][2]["reason"].startswith("fire did not solve the training lengths")


def test_a_study_with_claims_and_without_numbers_is_one_sentence(tmp_path):
    publish(tmp_path)
    words = (
        r"^results/published/doe_scaled/numbers\.json has no number reproduction\. This command "
    )
    with pytest.raises(UserError, match=words + r".* experiments\.page doe_scaled$"):
        reproductions.lookups(tmp_path, functools.partial(numbers.document, tmp_path))


def test_a_row_of_the_picture_has_the_papers_difference_and_ours(tmp_path):
    publish(tmp_path)
    outcomes = reproduction.outcomes(frame.read(tmp_path / STUDIES / "doe_scaled"))
    axes = drawing.new_axes()
    claims.draw_dots(axes, outcomes[:1])
    theirs, ours, interval = axes.lines
    assert theirs.get_xdata() == pytest.approx([0.5])
    assert ours.get_xdata() == pytest.approx([0.4])
    assert interval.get_xdata() == pytest.approx([0.4, 0.4])
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "RoPE − ALiBi, 2× the training length"
    ]
    drawing.pyplot().close(axes.figure)


def test_the_picture_is_written(tmp_path):
    publish(tmp_path)
    claims.draw(tmp_path)
    assert (tmp_path / claims.PICTURE).stat().st_size > 5000


def test_means_over_all_pairs_count_the_tasks_that_are_not_solved(tmp_path):
    scores = {("copy", "rope"): 0.9, ("copy", "alibi"): 0.5, ("sort", "rope"): 0.5}
    scores["sort", "alibi"] = 0.3
    entries = []
    for (task, name), value in scores.items():
        solved = {4: 1.0 if task == "copy" else 0.2}
        for seed in range(5):
            run = record(f"{task}{name}{seed}", seed, test={8: value}, validation=solved, task=task)
            entries.append((point(name, seed, task=task), run))
    claimed = [{"text": "RoPE is better.", "a": "rope", "b": "alibi", "is_mean": True}]
    analysis = {"reproduction": {"paper": "Doe 2024", "claims": claimed}}
    study = frame.read(write_study(tmp_path, *entries, analysis=analysis))
    (outcome,) = reproduction.outcomes(study)
    assert (outcome.solved, outcome.means) == ((1, 2), pytest.approx((0.9, 0.5)))
    row, total = claims.over_all_pairs(study).splitlines()[-2:]
    assert row == "| `rope`, `alibi` | 2 | 5 | 0.70 | 0.40 | +0.30 [+0.30, +0.30] |"
    assert total == "| all | 2 | 5 | 0.70 | 0.40 | +0.30 [+0.30, +0.30] |"


def test_a_claim_about_a_text_has_its_metric_and_the_digits_of_bits(tmp_path):
    entries = []
    for name, bits in (("rope", 2.0), ("alibi", 2.016)):
        for seed in range(5):
            run = text_record(f"{name}{seed}", seed, {8: bits, 16: bits})
            entries.append((point(name, seed), run))
    folder = write_study(
        tmp_path,
        *entries,
        analysis={
            "reproduction": {
                "paper": "Doe 2024",
                "claims": [{"text": "RoPE reads further.", "a": "rope", "b": "alibi"}],
            }
        },
    )
    line = claims.lookups(frame.read(folder))["claims"].splitlines()[-1]
    assert "| bits per byte, 2× the training length | – | 2.000 and 2.016 |" in line
    assert "| −0.016 [−0.016, −0.016] |" in line
