"""docs/claims.md: verdicts follow the declared rule and come from published numbers."""

import json
import shutil
from pathlib import Path

import pytest

from configs import speedruns
from docs.build import claims, numbers, pages
from docs.build.published import STUDIES
from experiments import page
from pe_lab.contrib.prose.numbers import Prose
from pe_lab.encodings.rope import RoPE
from pe_lab.results import statistics, variant_names
from pe_lab.runs.errors import UserError
from tests.results import contrasts
from tests.results.fake_study import point, write_study
from tests.results.test_text_study import text_record
from tests.study_configs import expanded

ROOT = Path(__file__).parents[2]
CLAIMS = claims.read(ROOT)
FEWER = (0.002, 0.0024, 0.0027, 0.003, 0.0033)  # bits of a quarter of RoPE, a seed each
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
    compared = {(claim.a, claim.b) for claim in CLAIMS}
    assert all(compared & {*speedruns.contrasts(form)} for form in speedruns.ROWS_OF_FORMS)
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
    reading = read(*judged(interval, "copying"))
    expected = {"better": better, "worse": worse, "not better": not_better}
    for expects, verdict in expected.items():
        assert claims.verdict(claims.Claim(**CLAIM, expects=expects), reading) == verdict


def judged(interval, form, means=(0.5, 0.5)):
    return claims.judged({"text": "+0.01", "interval": interval, "means": means}, form)


def read(shown, outcome, point=1):
    return claims.Reading("copying", 1750, point, shown, outcome)


@pytest.mark.parametrize(
    ("form", "means", "outcome", "shown"),
    [
        ("copying", (0.01, 0.0), "open", "+0.01, both at the floor"),
        ("deep", (0.99, 0.98), "open", "+0.01, both at the ceiling"),
        ("copying", (0.99, 0.94), "none", "+0.01"),
        ("text_muon", (0.01, 0.0), "none", "+0.01"),  # bits have no ends
    ],
)
def test_two_rows_at_one_end_of_exact_match_are_not_called_equal(form, means, outcome, shown):
    assert judged([-0.001, 0.001], form, means) == (shown, outcome)
    assert judged([0.001, 0.002], "copying", (0.01, 0.0)) == ("+0.01", "better")


def test_fewer_bits_are_better_and_the_margin_of_text_is_smaller():
    ends = [(-0.0034, -0.0019), (0.0019, 0.0034), (-0.002, 0.01), (-0.011, 0.002)]
    outcomes = [judged(interval, "text_muon")[1] for interval in ends]
    assert outcomes == ["better", "worse", "none", "open"]


@pytest.mark.parametrize(
    ("outcomes", "sign_changes", "is_not_robust"),
    [
        ("better open", "undecided", "undecided"),
        ("open open", "undecided", "undecided"),
        ("better none", "undecided", "holds"),
        ("none none", "undecided", "undecided"),
        ("better better open", "no", "does not hold"),
        ("worse worse", "no", "undecided"),
        ("better open worse", "yes", "holds"),
    ],
)
def test_two_decided_differences_show_a_sign_and_two_known_ones_a_robust_gain(
    outcomes, sign_changes, is_not_robust
):
    readings = [read("", outcome) for outcome in outcomes.split()]
    assert claims.sign_changes(readings) == sign_changes
    assert claims.robustness(readings) == is_not_robust
    assert claims.sign_changes([]) == claims.NOT_TRAINED


def test_a_claim_that_a_gain_is_not_robust_is_judged_once_and_not_in_each_cell():
    (claim,) = (claim for claim in CLAIMS if claim.expects == claims.NOT_ROBUST)
    assert claim.text == "The gain of offset keys is not robust."
    readings = [read("+0.10", "better"), read("0.00", "none"), read("+0.20", "better", 2)]
    assert claims.cell(claim, readings, "tasks, training length") == "better (1), none (1)"
    assert claims.cell(claim, readings, "text, longer") == "–"


def test_a_decided_difference_is_bold_and_none_has_its_word():
    readings = [read("+0.10", "better"), read("0.00", "none", 1.125), read("+0.20", "open", 2)]
    assert claims.rows_of("a − b", readings) == [
        ["a − b", "copying", "1,750", "**+0.10**", "0.00, none", "+0.20", "–"]
    ]


def test_the_sentences_above_the_verdicts_agree_with_them():
    lines = (ROOT / "docs/claims.md").read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]

    def verdicts_on(claim):
        """The verdicts on a claim: within the training length, and beyond it."""
        (text, longer_text, tasks, longer_tasks), *_ = (
            row[1:5] for row in rows if row[0].startswith(claim) and len(row) == len(rows[0])
        )
        return text + tasks, longer_text + longer_tasks

    for text in (
        "A smear of embeddings in addition to RoPE lowers",
        "Convolutions of keys, values and both outputs",
        "A convolution of the output of the feed-forward",
        "A convolution of keys alone",
        "RoPE on half of the channels with offset keys",
    ):
        verdicts = "".join(verdicts_on(text))
        assert "holds (" in verdicts
        assert "does not hold" not in verdicts
    for text in ("A smear in place of RoPE raises", "RoPE on a quarter of the channels does not"):
        within, beyond = verdicts_on(text)
        assert "holds (" in within
        assert "does not hold" not in within
        assert "does not hold" in beyond
        assert "holds (" not in beyond
    for text in ("Without RoPE on every fourth layer", "Layers without RoPE between layers"):
        assert "hold" not in "".join(verdicts_on(text))


@pytest.fixture
def root(tmp_path):
    """A folder with the claims, and a study of text of all rows of the form `text_muon`.

    A quarter of RoPE has 0.002 to 0.0033 bits fewer than RoPE, and offset keys as many.
    """
    (tmp_path / "docs").mkdir()
    for name in ("claims.toml", "claims.md.jinja"):
        shutil.copy(ROOT / "docs" / name, tmp_path / "docs" / name)
    entries = []
    for row in speedruns.ROWS_OF_FORMS["text_muon"]:
        for seed, fewer in enumerate(FEWER):
            bits = 2.0 - fewer * (row == "quarter rope")
            run = text_record(f"{row}{seed}".replace(" ", "_"), seed, {8: bits, 16: bits, 32: bits})
            entries.append((point(row, seed), run))
    pairs, points = speedruns.contrasts("text_muon"), speedruns.POINTS_OF_TEXT
    folder = write_study(
        tmp_path / STUDIES / "speedruns_text_muon",
        *entries,
        analysis={"contrasts": [{"a": a, "b": b, "at": at} for at in points for a, b in pairs]},
    )
    (folder / "README.md.jinja").write_text("A page that prints no contrast.\n")
    numbers.document.cache_clear()
    return tmp_path


def test_a_page_that_prints_no_contrast_publishes_those_that_claims_are_judged_by(root):
    page.write(root, ["speedruns_text_muon"])
    file = root / STUDIES / "speedruns_text_muon" / numbers.FILE
    entries = json.loads(file.read_text())["numbers"]
    assert sum(name.startswith("study.contrast(") for name in entries) == 4
    shown = entries["study.contrast(quarter rope, rope, 4)"]["shown"]
    expected = statistics.t_interval([-fewer for fewer in FEWER])
    assert -0.005 < expected.low < expected.high < -0.0015  # [-0.00, -0.00] with two decimals
    assert shown["interval"] == pytest.approx([expected.low, expected.high], rel=1e-9)
    assert shown["text"] == "−0.003 [−0.003, −0.002]"
    text = pages.text(root, Path("docs/claims.md"))
    lowers = next(line for line in text.splitlines() if "#315) |" in line)
    assert "| holds (1) | holds (1) | – | – | no |" in lowers
    shown = "**−0.003 [−0.003, −0.002]**"
    row = f"| `quarter rope` − `rope` | text, Muon | 1,000 | {shown} | – | – | {shown} |"
    assert row in text.splitlines()
    # Offset keys have no effect: their claim to be better does not hold at either length.
    assert ": 2 hold, 4 do not hold, 0 are undecided." in text


def test_a_published_study_without_a_contrast_is_one_sentence(root):
    page.write(root, ["speedruns_text_muon"])
    file = root / STUDIES / "speedruns_text_muon" / numbers.FILE
    file.write_text(json.dumps({"numbers": {}}))
    numbers.document.cache_clear()
    with pytest.raises(UserError, match=r"has no number study\.contrast\(.*\)\. This command"):
        pages.text(root, Path("docs/claims.md"))


def test_the_cell_of_rows_that_are_not_compared_has_the_reason(tmp_path):
    claim = next(claim for claim in CLAIMS if claim.a == "nope + smear")
    runs = {"rope": [0.9] * 5, claim.a: ([0.0] * 5, {"validation": {4: 0.1}})}
    pairs = [{"a": claim.a, "b": "rope", "at": at} for at in speedruns.points("flip_flop")]
    study = Prose(contrasts.study(tmp_path, runs, pairs))
    contrast = study.contrast(claim.a, "rope", 2)
    reason = "nope + smear did not solve the training lengths with any seed"
    assert claims.judged(contrast, "flip_flop") == (reason, "open")
    rule = " ".join((ROOT / "docs" / "claims.md.jinja").read_text().split())
    assert "only if each of them solved the training lengths" in rule


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
