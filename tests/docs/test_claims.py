"""docs/claims.md: verdicts follow the declared rule and come from published numbers."""

import json
from pathlib import Path

import pytest

from configs import speedruns
from docs.build import claims, numbers
from docs.build.published import STUDIES
from pe_lab.encodings.rope import RoPE
from pe_lab.results import variant_names
from pe_lab.runs.errors import UserError
from tests.study_configs import expanded

ROOT = Path(__file__).parents[2]
CLAIMS = claims.read(ROOT)
CLAIM = dict(text="", source="", address="", read="", setting="")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text)
def test_a_claim_is_tested_by_a_declared_contrast_or_says_why_not(claim):
    tested = [form for form in speedruns.ROWS_OF_FORMS if _is_tested(claim, form)]
    assert bool(tested) != bool(claim.why)
    assert (claim.expects == "") == bool(claim.why)
    assert claim.address.startswith("https://")


def _is_tested(claim, form):
    return (claim.a, claim.b) in speedruns.contrasts(form)


def test_every_form_has_rows_that_a_claim_compares():
    of_claims = {(claim.a, claim.b) for claim in CLAIMS}
    assert all(of_claims & {*speedruns.contrasts(form)} for form in speedruns.ROWS_OF_FORMS)
    assert {form for form in speedruns.FORMS if form != "smoke"} | {""} == {*claims.HEADINGS}


@pytest.mark.parametrize(
    ("interval", "better", "worse", "not_better"),
    [
        ((0.01, 0.02), "holds", "does not hold", "does not hold"),
        ((-0.02, -0.01), "does not hold", "holds", "holds"),
        ((-0.04, 0.04), "does not hold", "does not hold", "holds"),
        ((-0.04, 0.06), "undecided", "undecided", "undecided"),
        (None, "undecided", "undecided", "undecided"),
    ],
)
def test_a_verdict_follows_the_rule_of_the_config(interval, better, worse, not_better):
    reading = claims.Reading("", "", interval, margin=0.05)
    expected = {"better": better, "worse": worse, "not better": not_better}
    for expects, verdict in expected.items():
        assert claims.verdict(claims.Claim(**CLAIM, expects=expects), reading) == verdict


def test_the_sign_changes_only_between_decided_differences():
    up, down, wide = (
        claims.Reading("", "", interval, 0.05)
        for interval in ((0.1, 0.2), (-0.2, -0.1), (-1.0, 1.0))
    )
    assert claims.sign_changes([up, wide]) == "no"
    assert claims.sign_changes([up, wide, down]) == "yes"
    assert claims.sign_changes([]) == claims.NOT_TRAINED


def test_a_verdict_is_looked_up_and_fewer_bits_are_better(tmp_path):
    claim = claims.Claim(**CLAIM, a="quarter rope", b="rope", expects="better")
    assert claims.cell(claim, "", claims.readings_of(tmp_path, claim, "")) == "not trained yet"
    file = tmp_path / STUDIES / "speedruns" / numbers.FILE
    file.parent.mkdir(parents=True)
    entries = {}
    for steps, point in ((250, 1), (250, 4), (1000, 1), (1000, 4)):
        names = (f"{row} · {steps:,} steps" for row in ("quarter rope", "rope"))
        name = numbers.called("study.difference", (*names, point), {})
        entries[name] = {"shown": "−0.03 [−0.05, −0.01]", "interval": [-0.05, -0.01]}
    file.write_text(json.dumps({"numbers": entries}))
    readings = claims.readings_of(tmp_path, claim, "")
    assert [reading.interval for reading in readings] == [(0.01, 0.05)] * 4
    assert claims.cell(claim, "", readings).startswith(
        "250 steps, 1×: **holds**, −0.03 [−0.05, −0.01]; 250 steps, 4×: **holds**"
    )
    file.write_text(json.dumps({"numbers": {}}))
    with pytest.raises(UserError, match="has no number study"):
        claims.readings_of(tmp_path, claim, "")


def test_half_truncated_frequencies_are_those_of_half_rope_at_a_head_width_of_16():
    """modded-nanogpt at f411b3d, train_gpt.py: (1/1024) ** linspace(0, 1, head_dim // 4)."""
    model = speedruns.get_config("copying").model
    head_dim = model.width // model.num_heads
    assert head_dim == 16
    count = head_dim // 4
    theirs = [1024 ** (-m / (count - 1)) for m in range(count)]
    (half,), _ = speedruns.ROWS["half rope"]
    arguments = {key: value for key, value in half.items() if key != "name"}
    assert RoPE(head_dim=head_dim, **arguments).frequencies == pytest.approx(theirs, rel=0.025)
    exact = dict(arguments, base=1024 ** (count / (count - 1)))
    assert RoPE(head_dim=head_dim, **exact).frequencies == pytest.approx(theirs)


@pytest.mark.parametrize("form", ["copying", "deep", "recall", "flip_flop"])
def test_tasks_are_compared_where_a_row_needs_no_solved_run_and_off_the_floor_of_rope(form):
    assert speedruns.points(form) == (1, 1.125, 2)
    compared = [(c["a"], c["b"], c["at"]) for c in speedruns.analysis(form)["contrasts"]]
    pairs = speedruns.contrasts(form)
    assert compared == [(a, b, at) for at in (1, 1.125, 2) for a, b in pairs]


@pytest.mark.parametrize(
    ("means", "end"),
    [
        ((0.0, 0.0), "floor"),
        ((0.0, 0.05), ""),
        ((0.5, 0.5), ""),
        ((0.95, 1.0), ""),
        ((0.96, 1.0), "ceiling"),
        ((0.0, 1.0), ""),
    ],
)
def test_two_means_at_one_end_of_exact_match_show_no_absence_of_a_difference(means, end):
    assert speedruns.shared_end(*means) == speedruns.shared_end(*means[::-1]) == end


def test_exclusive_self_attention_is_a_row_of_the_text():
    assert ("rope + xsa", "rope") in speedruns.contrasts("")


@pytest.mark.slow
@pytest.mark.parametrize("form", speedruns.ROWS_OF_FORMS)
def test_numbers_are_looked_up_by_the_names_of_variants(form):
    labels = [dict(entry.labels) for entry in expanded("speedruns", form=form).entries]
    for of_entry in labels:
        del of_entry["train.learning_rate"]  # tuned
    rows, budgets = speedruns.ROWS_OF_FORMS[form], speedruns.budgets(form)
    expected = {claims.variant(row, form, steps) for row in rows for steps in budgets}
    assert set(variant_names.names("speedruns", labels)) == expected
