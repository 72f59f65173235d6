import numpy as np
import pytest

from pe_lab.results import planning, results, significance
from pe_lab.results.compare import Counts
from pe_lab.runs.errors import UserError
from tests.results.fake_study import point, record, write_study


def test_the_power_is_the_share_of_simulated_studies_that_reject():
    rng = np.random.default_rng(0)
    a, b = rng.binomial(8, 0.9, 20_000), rng.binomial(8, 0.3, 20_000)
    rejected = (significance.barnard_table(8, 8) < 0.05)[a, b].mean()
    found = planning.power_of(Counts(9, 10), Counts(3, 10), 8, 0.05, averaged=False)
    assert found == pytest.approx(rejected, abs=0.01)


def test_the_averaged_power_is_the_mean_over_rates_that_agree_with_the_pilot():
    rng = np.random.default_rng(0)
    rates_a, rates_b = rng.beta(3.5, 0.5, 20_000), rng.beta(0.5, 3.5, 20_000)
    rejected = (significance.barnard_table(6, 6) < 0.05)[
        rng.binomial(6, rates_a), rng.binomial(6, rates_b)
    ].mean()
    assert planning.power_of(Counts(3, 3), Counts(0, 3), 6, 0.05, averaged=True) == pytest.approx(
        rejected, abs=0.01
    )


@pytest.mark.slow
def test_without_a_difference_the_power_is_no_more_than_the_level():
    assert all(
        planning.power_of(Counts(5, 10), Counts(5, 10), n, 0.05, averaged=False) <= 0.05
        for n in range(2, 25)
    )


def test_simulated_studies_of_the_needed_pairs_have_the_power():
    """The mean difference is one standard deviation, and the power is 0.8."""
    differences = [0.0, 1.0, 2.0] * 8
    needed = planning.pairs_needed(differences, 0.8, 0.05)
    spread = np.std(differences, ddof=1) * np.sqrt(
        23 / 18.062
    )  # the 20 % point of chi-squared of 23
    drawn = np.random.default_rng(0).normal(1.0, spread, (20_000, needed))
    t = drawn.mean(axis=1) / (drawn.std(axis=1, ddof=1) / np.sqrt(needed))
    assert 0.79 <= np.mean(np.abs(t) > {12: 2.201, 11: 2.228, 10: 2.262, 13: 2.179}[needed]) <= 0.87


@pytest.mark.parametrize(
    ("differences", "needed"), [([0.5, 0.5, 0.5], 6), ([0.0, 0.0], None), ([0.5], None), ([], None)]
)
def test_equal_differences_need_the_pairs_of_the_sign_flip_test(differences, needed):
    assert planning.pairs_needed(differences, 0.8, 0.05) == needed


def study(tmp_path, **more):
    runs = {"rope": [1.0, 0.96, 0.95], "alibi": [0.1, 0.2, 0.3], "nope": [0.5] * 3}
    entries = [
        (
            point(n, i),
            record(f"{n}{i}", i, test={8: v}, validation={4: 1.0 if n != "nope" else 0.0}),
        )
        for n, values in runs.items()
        for i, v in enumerate(values)
    ]
    return results.load(write_study(tmp_path, *entries, analysis=more))


def test_every_contrast_has_its_seeds_at_the_level_of_holms_first_step(tmp_path):
    found = study(tmp_path, contrasts=[["rope", "alibi"], ["rope", "nope"]])
    first, second = planning.seeds_needed(found, 0.8)
    power = [
        planning.power_of(Counts(3, 3), Counts(0, 3), n, 0.025, averaged=True)
        for n in (first.averaged - 1, first.averaged)
    ]
    assert power[0] < 0.8 <= power[1]
    assert first.if_true < first.averaged
    assert (second.if_true, second.averaged, second.paired) == (None, None, None)
    text = planning.text(found, 0.8, [first, second])
    assert "at p < 0.025: 0.05 over 2 declared contrasts (Holm's first step)" in text
    assert (
        f"rope against alibi: if true {first.if_true}, averaged {first.averaged}, paired {first.paired}; pilot 3/3 against 0/3"
        in text
    )
    assert (
        "rope against nope: (not compared: nope did not solve the training lengths with any seed); pilot 3/3 against 0/3"
        in text
    )
    assert "The rates of a pilot of 3 seeds are very uncertain: use the averaged number." in text


@pytest.mark.parametrize("power", [0.0, 1.0, 80.0])
def test_a_power_outside_0_to_1_is_refused(tmp_path, power):
    with pytest.raises(
        UserError,
        match=f"--seeds_needed must be a power between 0 and 1, such as 0.8, got {power:g}",
    ):
        planning.seeds_needed(study(tmp_path, contrasts=[["rope", "alibi"]]), power)


def test_a_study_without_contrasts_is_refused(tmp_path):
    with pytest.raises(
        UserError,
        match=r"The analysis spec of fake has no contrasts\. Add contrasts to the config's analysis",
    ):
        planning.seeds_needed(study(tmp_path), 0.8)
