"""Verdicts on the claims of a paper: the rule by hand, and outcomes of records."""

import importlib

import pytest

from pe_lab.contrib.papers import reproduction, verdicts
from pe_lab.results import frame, read_analysis_spec
from pe_lab.results.statistics import Interval
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import record_rows
from pe_lab.runs.studies import check_analysis_spec
from tests.results import studies, test_text_study
from tests.results.contrasts import study
from tests.results.fake_study import point, record, row

ABOVE, AROUND, BELOW = Interval(0.2, 0.4, "t"), Interval(-0.1, 0.4, "t"), Interval(-0.4, -0.2, "t")


@pytest.mark.parametrize(
    ("difference", "interval", "is_solved", "is_authors_size", "theirs", "expected"),
    [
        (0.3, ABOVE, True, True, 0.35, "holds at the authors' size"),
        (0.3, ABOVE, True, True, 0.41, "undecided"),  # the size of the difference is another one
        (0.3, ABOVE, True, True, None, "undecided"),  # no figure was read
        (0.3, ABOVE, True, False, 0.35, "holds, scaled"),
        (0.3, ABOVE, True, False, None, "holds, scaled"),
        (-0.3, BELOW, True, False, 0.35, "does not hold"),
        (-0.3, BELOW, True, True, -0.35, "does not hold"),
        (0.15, AROUND, True, False, 0.35, "undecided"),
        (0.3, ABOVE, False, False, 0.35, "undecided"),
        (-0.3, BELOW, False, False, 0.35, "undecided"),
        (0.3, None, True, False, 0.35, "undecided"),
        (0.3, ABOVE, False, True, 0.49, "undecided"),  # the interval reaches up to 0.4
        (0.3, ABOVE, False, True, 0.51, "not reached at the authors' size"),
        (0.3, ABOVE, False, False, 0.9, "undecided"),  # another size
    ],
)
def test_the_rule_by_hand(difference, interval, is_solved, is_authors_size, theirs, expected):
    found = verdicts.verdict(
        difference, interval, is_solved=is_solved, is_authors_size=is_authors_size, theirs=theirs
    )
    assert found == expected


@pytest.mark.parametrize(
    ("low", "high", "is_solved", "expected"),
    [
        (0.85, 0.99, True, "holds at the authors' size"),
        (0.75, 0.95, True, "undecided"),
        (0.30, 0.79, True, "does not hold"),
        (0.85, 0.95, False, "undecided"),
        (0.0, 0.0, False, "not reached at the authors' size"),
    ],
)
def test_the_rule_of_a_figure_by_hand(low, high, is_solved, expected):
    interval = Interval(low, high, "t")
    assert verdicts.verdict_on_figure(interval, 0.9, is_solved=is_solved) == expected


def claim(a="rope", b="alibi", **more):
    return {"text": f"{a} extends further than {b}.", "a": a, "b": b, **more}


ROPE, ALIBI = [0.90, 0.91, 0.92, 0.91, 0.90], [0.50, 0.52, 0.51, 0.50, 0.49]


def outcomes(folder, *claims, rope=ROPE, alibi=ALIBI, is_authors_size=False):
    values = {"paper": "Doe 2024", "claims": [*claims], "is_authors_size": is_authors_size}
    of_study = study(folder, {"rope": rope, "alibi": alibi}, reproduction=values)
    return reproduction.outcomes(of_study)


def test_an_outcome_has_our_means_and_the_verdict(tmp_path):
    holds, does_not = outcomes(tmp_path, claim(figures=(0.8, 0.3)), claim("alibi", "rope"))
    assert (holds.a, holds.b, holds.solved) == ("rope", "alibi", (5, 5))
    assert holds.pairs == tuple(zip(ROPE, ALIBI, strict=True))
    assert holds.means == pytest.approx((0.908, 0.504))
    assert holds.difference == pytest.approx(0.404)
    assert (holds.claim.figures, holds.verdict) == ((0.8, 0.3), "holds, scaled")
    assert does_not.verdict == "does not hold"


@pytest.mark.parametrize(
    ("figures", "verdict", "reason"),
    [
        ((0.8, 0.3), "holds at the authors' size", ""),
        ((0.9, 0.1), "undecided", "our difference is not within 0.1 of theirs"),
        ((), "undecided", "the paper's numbers were not read"),
    ],
)
def test_at_the_authors_size_the_difference_counts_too(tmp_path, figures, verdict, reason):
    (outcome,) = outcomes(tmp_path, claim(figures=figures), is_authors_size=True)
    assert (outcome.verdict, outcome.reason) == (verdict, reason)


def test_a_claim_beyond_training_needs_five_solved_seeds_of_both(tmp_path):
    """Within the training lengths the claim may be about solving itself."""
    unsolved = ([0.5] * 6, {"validation": {4: 0.3}})
    beyond, within = outcomes(tmp_path, claim(), claim(at=1), rope=[0.9] * 6, alibi=unsolved)
    assert (beyond.verdict, beyond.solved) == ("undecided", (6, 0))
    assert "did not solve" in beyond.reason
    assert len(within.pairs) == 6


def test_a_claim_about_one_variant_is_a_figure(tmp_path):
    figure = claim(b="", figures=(0.95,))
    (outcome,) = outcomes(tmp_path, figure, is_authors_size=True)
    assert outcome.verdict == "holds at the authors' size"
    assert (outcome.difference, outcome.means) == (None, pytest.approx((0.908,)))
    assert outcome.interval.low < 0.908 < outcome.interval.high
    unsolved = (ROPE, {"validation": {4: 0.3}})
    (outcome,) = outcomes(tmp_path / "b", figure, rope=unsolved, is_authors_size=True)
    assert outcome.reason == "fewer than 5 seeds solved the training lengths"


def test_a_figure_of_a_loss_is_not_reached_if_ours_is_larger(tmp_path):
    """The verdict on a metric whose lower values are better has the other sign."""
    unsolved = {"validation": {4: 0.3}}
    for name, ours, verdict in (
        ("worse", [5.0, 5.2, 5.1, 5.3, 5.2], "not reached at the authors' size"),
        ("better", [0.1, 0.12, 0.11, 0.1, 0.12], "undecided"),
    ):
        entries = []
        for seed, value in enumerate(ours):
            run = record(f"{name}{seed}", seed, test={8: 0.0}, **unsolved)
            run["rows"].append(record_rows.row("test", 8, 0, "negative_log_likelihood", value, 100))
            entries.append((point("rope", seed), run))
        figure = claim(b="", figures=(1.0,), metric="negative_log_likelihood")
        values = {"paper": "Doe 2024", "claims": [figure], "is_authors_size": True}
        losses = studies.study(tmp_path / name, *entries, reproduction=values)
        assert reproduction.outcomes(losses)[0].verdict == verdict


def test_eight_trained_seeds_decide_with_five_solved_ones_of_both(tmp_path):
    entries = []
    for name, level in (("rope", 0.9), ("alibi", 0.5)):
        for seed in range(8):
            solved = 1.0 if seed < 5 else 0.3
            run = record(f"{name}{seed}", seed, test={8: level}, validation={4: solved})
            entries.append((point(name, seed), run))
    analysis = {"reproduction": {"paper": "Doe 2024", "claims": [claim()]}}
    (outcome,) = reproduction.outcomes(studies.study(tmp_path, *entries, **analysis))
    assert (outcome.solved, outcome.verdict) == ((5, 5), "holds, scaled")


@pytest.mark.parametrize(
    ("wanted", "solved", "mean", "verdict"),
    [
        (3, (3, 4), 0.9, "holds at the authors' size"),
        (4, (4, 5), 0.9, "holds at the authors' size"),
        (5, (4, 6), 0.9, "undecided"),
    ],
)
def test_a_figure_can_be_a_mean_over_the_first_solved_seeds(
    tmp_path, wanted, solved, mean, verdict
):
    """Seed 1 does not solve the training lengths, and neither does seed 5."""
    entries = []
    for seed in range(6):
        is_solved = seed not in (1, 5)
        values = {8: 0.9 if is_solved else 0.0}
        run = record(f"a{seed}", seed, test=values, validation={4: float(is_solved)})
        entries.append((point("rope", seed), run))
    claims = [claim(b="", figures=(0.92,), first_solved=wanted)]
    values = {"paper": "Doe 2024", "claims": claims, "is_authors_size": True}
    (outcome,) = reproduction.outcomes(studies.study(tmp_path, *entries, reproduction=values))
    assert (outcome.solved, outcome.means) == (solved, pytest.approx((mean,)))
    assert outcome.is_solved == (wanted < 5)


def diverging(folder, name, claims):
    """The last of six runs of a variant diverges."""
    entries = []
    for variant, score in (("rope", 0.9), ("alibi", 0.5)):
        for seed in range(6):
            test = {8: score}
            run = record(f"{variant}{seed}", seed, test=test, validation={4: 1.0})
            if (variant, seed) == (name, 5):
                run = record(f"{variant}{seed}", seed, status="diverged")
            entries.append((point(variant, seed), run))
    values = {"paper": "Doe 2024", "claims": claims, "is_authors_size": True}
    return reproduction.outcomes(studies.study(folder, *entries, reproduction=values))


@pytest.mark.parametrize("name", ["rope", "alibi"])
def test_a_diverged_run_has_no_number_and_leaves_a_claim_undecided(tmp_path, name):
    claims = [claim(figures=(0.9, 0.5)), claim(figures=(0.9, 0.5), is_mean=True)]
    for outcome in diverging(tmp_path, name, claims):
        assert (outcome.verdict, outcome.reason) == ("undecided", "1 of the runs diverged")
        assert len(outcome.pairs) == 5
    (figure,) = diverging(tmp_path / "b", name, [claim(b="", figures=(0.9,))])
    assert figure.verdict == ("undecided" if name == "rope" else "holds at the authors' size")


def test_the_first_solved_seeds_may_pass_over_a_diverged_one(tmp_path):
    (outcome,) = diverging(tmp_path, "rope", [claim(b="", figures=(0.9,), first_solved=5)])
    assert (outcome.verdict, outcome.solved) == ("holds at the authors' size", (5, 5))


def test_a_reason_names_the_first_solved_seeds_that_a_claim_needs(tmp_path):
    (outcome,) = diverging(tmp_path, "alibi", [claim(b="", figures=(0.9,), first_solved=8)])
    assert outcome.reason == "fewer than 8 seeds solved the training lengths"


def at_two_lengths(folder, *, contrasts=(), claims=(), is_authors_size=False):
    """RoPE is better at twice the length, and ALiBi at four times."""
    entries = []
    for name, (near, far) in {"rope": (0.9, 0.2), "alibi": (0.5, 0.6)}.items():
        for seed in range(5):
            run = record(f"{name}{seed}", seed, test={8: near, 16: far}, validation={4: 1.0})
            entries.append((point(name, seed), run))
    values = {"paper": "Doe 2024", "claims": [*claims], "is_authors_size": is_authors_size}
    analysis = {"reproduction": values, "contrasts": [*contrasts]}
    return reproduction.outcomes(studies.study(folder, *entries, **analysis))


@pytest.mark.parametrize(
    "more",
    [
        {"claims": [claim(at=2), claim(at=4)]},
        {"claims": [claim(at=[2, 4])]},
        {"claims": [claim(at=2)], "contrasts": [{"a": "alibi", "b": "rope", "at": 4}]},
    ],
)
def test_a_sign_that_another_declared_length_reverses_depends_on_the_length(tmp_path, more):
    first, *_ = at_two_lengths(tmp_path, **more)
    assert (first.verdict, str(first.metric.point)) == (
        "depends on the length",
        "at 2× the training length",
    )
    assert first.reason == "the other way at 4× the training length"


def test_a_reversed_sign_depends_on_the_length_at_the_authors_size_too(tmp_path):
    """Near their difference it would hold, and without one it would be undecided."""
    for figures in ((0.9, 0.5), ()):
        folder = tmp_path / str(len(figures))
        claims = [claim(at=2, figures=figures), claim(at=4)]
        first, second = at_two_lengths(folder, claims=claims, is_authors_size=True)
        assert (first.verdict, second.verdict) == ("depends on the length",) * 2


def test_no_solved_seed_is_not_reached_at_the_authors_size_as_one_is(tmp_path):
    for solved in (0, 1):
        validations = [1.0] * solved + [0.3] * (6 - solved)
        entries = []
        for seed, value in enumerate(validations):
            for name, validation in (("rope", value), ("alibi", 1.0)):
                run = record(f"{name}{seed}", seed, test={8: 0.2}, validation={4: validation})
                entries.append((point(name, seed), run))
        values = {"paper": "Doe 2024", "claims": [claim(figures=(0.9, 0.2))]}
        values["is_authors_size"] = True
        folder = tmp_path / str(solved)
        (outcome,) = reproduction.outcomes(studies.study(folder, *entries, reproduction=values))
        assert outcome.verdict == "not reached at the authors' size"


def test_a_length_that_is_not_declared_changes_no_verdict(tmp_path):
    assert [each.verdict for each in at_two_lengths(tmp_path, claims=[claim(at=2)])] == [
        "holds, scaled"
    ]


@pytest.mark.parametrize(
    ("last", "reason"),
    [(0.044, "no run is above chance at this length"), (0.9, "our numbers do not decide")],
)
def test_a_length_at_which_every_run_is_at_chance_decides_nothing(tmp_path, last, reason):
    entries = []
    for name, level in (("rope", 0.04), ("alibi", 0.0)):
        for seed in range(5):
            value = last if (name, seed) == ("rope", 4) else level + seed / 1000
            numbers = {"test": {8: value}, "chance_levels": {8: 0.01}}
            run = record(f"{name}{seed}", seed, validation={4: 1.0}, **numbers)
            entries.append((point(name, seed), run))
    analysis = {"reproduction": {"paper": "Doe 2024", "claims": [claim()]}}
    (outcome,) = reproduction.outcomes(studies.study(tmp_path, *entries, **analysis))
    assert (outcome.verdict, outcome.reason) == ("undecided", reason)
    assert (outcome.interval is None) == (last < 0.9)


@pytest.mark.parametrize("metric", ["exact_match", "exact_match_without_end"])
def test_a_mean_leaves_out_the_tasks_whose_runs_are_all_at_chance(tmp_path, metric):
    entries = []
    for task, scores in {"copy": (0.9, 0.5), "sort": (0.04, 0.02)}.items():
        for name, score in zip(("rope", "alibi"), scores, strict=True):
            for seed in range(5):
                run = record(
                    f"{task}{name}{seed}",
                    seed,
                    validation={4: 1.0},
                    task=task,
                    chance_levels={8: 0.05},
                )
                run["rows"].append(row(metric, 8, score + seed / 1000))
                entries.append((point(name, seed, task=task), run))
    claims = [claim(metric=metric, is_mean=True)]
    analysis = {"reproduction": {"paper": "Doe 2024", "claims": claims}}
    (outcome,) = reproduction.outcomes(studies.study(tmp_path, *entries, **analysis))
    assert (outcome.solved, outcome.verdict) == ((1, 2), "holds, scaled")


def of_pairs(folder, values, unsolved=(), **more):
    """Outcomes of the claim that rope is better than alibi, on average over tasks.

    Args:
      values: token accuracy at twice the length by task and encoding, one for each seed.
      unsolved: pairs of task and encoding.
    """
    entries = []
    for (task, name), of_name in values.items():
        solved = 0.3 if (task, name) in unsolved else 1.0
        for seed, value in enumerate(of_name):
            numbers = {"tokens": {8: value}, "validation": {4: solved}, "task": task}
            run = record(f"{task}{name}{seed}", seed, **numbers)
            entries.append((point(name, seed, task=task), run))
    claims = [claim(metric="token_accuracy", is_mean=True, **more)]
    analysis = {"reproduction": {"paper": "Doe 2024", "claims": claims}}
    (outcome,) = reproduction.outcomes(studies.study(folder, *entries, **analysis))
    return outcome


VALUES = {
    ("copy", "rope"): [0.9, 0.8, 0.9, 0.8, 0.9],
    ("copy", "alibi"): [0.5, 0.5, 0.5, 0.5, 0.5],
    ("sort", "rope"): [0.3, 0.3, 0.3, 0.3, 0.3],
    ("sort", "alibi"): [0.4, 0.4, 0.4, 0.4, 0.4],
}


def test_a_claim_about_a_mean_averages_over_the_pairs_of_each_seed(tmp_path):
    outcome = of_pairs(tmp_path, VALUES)
    assert (outcome.verdict, outcome.solved) == ("holds, scaled", (2, 2))
    assert outcome.means == pytest.approx((0.58, 0.45))
    assert outcome.difference == pytest.approx(0.13)
    assert outcome.pairs[1] == pytest.approx((0.55, 0.45))


def test_a_mean_leaves_out_the_tasks_that_five_seeds_do_not_solve(tmp_path):
    outcome = of_pairs(tmp_path, VALUES, unsolved=[("copy", "alibi")])
    assert (outcome.verdict, outcome.solved) == ("does not hold", (1, 2))
    assert outcome.difference == pytest.approx(-0.1)
    unsolved = [("copy", "alibi"), ("sort", "rope")]
    outcome = of_pairs(tmp_path / "b", VALUES, unsolved=unsolved)
    assert (outcome.solved, outcome.means) == ((0, 2), (None, None))
    assert outcome.reason == "no pair is comparable with 5 solved seeds of both"


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"paper": "Doe 2024", "claims": [claim(metric="exact")]}, "Did you mean 'exact_match'"),
        (
            {"paper": "Doe 2024", "claims": [claim(b="", figures=(1.0,), is_mean=True)]},
            "but b is missing",
        ),
        ({"claims": [claim()]}, "claims need a paper"),
        ({"paper": "Doe 2024", "claims": [claim(at=[])]}, "is about one length"),
        (
            {"paper": "Doe 2024", "claims": [claim(at=[2, 4], figures=(0.9, 0.1))]},
            "is about one length",
        ),
        ({"paper": "Doe 2024", "claims": [claim(first_solved=5)]}, "about one variant"),
        ({"paper": "Doe 2024", "claims": [{"a": "rope", "b": "alibi"}]}, "a claim has a text"),
        ({"paper": "Doe 2024", "claims": [claim(b="rope")]}, "names two variants"),
        ({"paper": "Doe 2024", "claims": [claim(figures=(0.9,))]}, "figures are the numbers"),
        ({"paper": "Doe 2024", "claims": [claim(b="")]}, "figures are the numbers"),
        ({"paper": "Doe 2024", "claim": []}, "Did you mean 'claims'"),
        ({"paper": "Doe 2024", "is_authors_size": 1}, "must be True or False, got 1"),
    ],
)
def test_bad_claims_are_refused_with_one_sentence(values, error):
    with pytest.raises(UserError, match=error):
        read_analysis_spec.from_dict({"reproduction": values})


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("huang8", ((), ("scaled",), ("longer",))),
        ("huang25", ((), ("scaled",), ("literature",), ("seeds",))),
        ("kazemnejad10", ((), ("scaled",), ("longer",))),
        ("coupling7", ((), ("scaled",), ("longer",))),
        ("abacus4", ((), ("scaled",), ("longer",))),
        ("jelassi3", ((), ("scaled",), ("longer",))),
        ("ruoss15", ((), ("scaled",))),
    ],
)
def test_claims_of_the_papers_name_variants_of_their_sweep(name, forms):
    module = importlib.import_module(f"configs.papers.{name}")
    for form in forms:
        spec = read_analysis_spec.from_dict(module.analysis(*form))
        labels = [
            {path: choice.label for path, choice in point.items() if path != "seed"}
            for point in module.sweep(*form)
        ]
        check_analysis_spec.check(spec, labels)
        assert spec.reproduction.claims


def test_a_claim_about_a_text_says_how_many_runs_finished(tmp_path):
    values = {"paper": "Doe 2024", "claims": [claim()]}
    folder = test_text_study.folder_of(tmp_path, {"reproduction": values})
    (outcome,) = reproduction.outcomes(frame.read(folder))
    assert (outcome.verdict, outcome.solved) == ("undecided", (2, 2))
    assert outcome.reason == "fewer than 5 runs of a text finished"


def test_a_figure_is_of_the_variant_that_its_labels_name(tmp_path):
    values = {"paper": "Doe 2024", "claims": [claim(b="", figures=(0.9,))]}
    entries = []
    for name in ("rope", "alibi"):
        run = record(name, test={8: 0.5}, validation={4: 1.0})
        entries.append((point(name, 0, positions=f"of {name}"), run))
    of_rope = studies.study(tmp_path, *entries, reproduction=values)
    (outcome,) = reproduction.outcomes(of_rope)
    assert (outcome.a, outcome.means) == ("rope · of rope", (0.5,))
    values["claims"] = [claim("rope · of alibi", "", figures=(0.9,))]
    of_none = studies.study(tmp_path / "none", *entries, reproduction=values)
    with pytest.raises(UserError, match=r"\(analysis: reproduction\) has no 'rope · of alibi'"):
        reproduction.outcomes(of_none)
