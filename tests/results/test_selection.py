"""Validation chooses a setting of the tuned axes."""

import dataclasses
import math

import pytest

from pe_lab.results import (
    choice_intervals,
    choice_table,
    formats,
    frame,
    selection,
    statistics,
    summary,
    tables,
)
from pe_lab.runs.records import records
from pe_lab.runs.studies.analysis_spec import MetricPoint, MetricSpec
from tests.results import fake_study
from tests.results.fake_study import entry, row, values

RATE = "train.learning_rate"
AT = MetricSpec("exact_match", MetricPoint(length=8))


def at_rate(name, rate, loss, outcome, seed=0):
    """A run with a validation loss, which is infinite if it diverged, and exact match beyond
    training.
    """
    status = "finished" if loss < math.inf else "diverged"
    loss = loss if loss < math.inf else None
    return entry(name, seed, {RATE: rate}, test={8: outcome}, loss=loss, status=status)


def tuned(folder, runs):
    """A study of runs {rate: [(validation loss, exact match beyond training), a seed each]}, or
    {(encoding, rate): …}.
    """
    entries = []
    for key, seeds in runs.items():
        name, rate = key if isinstance(key, tuple) else ("rope", key)
        entries += [at_rate(name, rate, *of_seed, seed) for seed, of_seed in enumerate(seeds)]
    return fake_study.study(folder, *entries, tuned=[RATE])


def choose(folder, runs):
    return selection.choose(tuned(folder, runs))


def interval(chosen):
    """The interval of exact match at length 8 that includes the choice."""
    values_of_all = summary.values_at(chosen, chosen.candidates, AT.name, AT.point)
    return choice_intervals.interval(values_of_all, chosen.settings["candidate"])


def test_the_rate_of_the_least_validation_loss_is_chosen_whatever_the_test_says(tmp_path):
    runs = {"1": [(0.2, 1.0)] * 2, "2": [(0.1, 0.3)] * 2, ("alibi", "1"): [(0.1, 0.5)] * 2}
    chosen = choose(tmp_path, runs)
    assert [
        (
            name,
            selection.setting(chosen, name),
            values(chosen, name, 8),
            len(selection.settings_of(chosen, name)),
        )
        for name in chosen.by_name
    ] == [("rope", "2", [0.3, 0.3], 2), ("alibi", "1", [0.5, 0.5], 1)]


@pytest.mark.parametrize(
    ("best", "shown"), [("0.001", "0.001 (edge)"), ("0.003", "0.003"), ("0.01", "0.01 (edge)")]
)
def test_a_rate_at_the_edge_of_its_grid_is_flagged(tmp_path, best, shown):
    losses = {rate: 0.1 if rate == best else 0.2 for rate in ("0.01", "0.001", "0.003")}
    found = tuned(tmp_path, {rate: [(loss, 0.5)] for rate, loss in losses.items()})
    table = choice_table.tuning(selection.choose(found))
    assert table.rows[0][1].text == shown
    note = "(edge): the smallest or largest value tried; a wider grid may do better."
    assert (note in table.notes) == ("edge" in shown)
    assert (note in tables.markdown(found)) == ("edge" in shown)


def test_settings_are_in_the_order_of_their_numbers(tmp_path):
    rates = ("0.001", "0.01", "0.00033")  # the last one was added by `extend`
    table = choice_table.tuning(choose(tmp_path, {rate: [(0.1, 0.5)] for rate in rates}))
    assert table.header[-3:] == ("0.00033", "0.001", "0.01")


@pytest.mark.parametrize("rates", [("0.001",), ("fast", "slow")])
def test_one_value_and_values_that_are_no_numbers_have_no_edge(tmp_path, rates):
    chosen = choose(tmp_path, {rate: [(0.1, 0.5)] for rate in rates})
    assert not chosen.settings["is_at_edge"].any()


def test_choices_at_an_edge_are_marked(tmp_path):
    losses = {"0.001": (0.1, 0.3, 0.2), "0.003": (0.2, 0.1, 0.3), "0.01": (0.3, 0.2, 0.1)}
    runs = {
        (name, rate): [(loss, 0.5)]
        for rate, of_names in losses.items()
        for name, loss in zip(("rope", "alibi", "shaw"), of_names, strict=True)
    }
    is_at_edge = choose(tmp_path, runs).settings.groupby("variant")["is_at_edge"].any()
    assert is_at_edge.to_dict() == {"rope": True, "alibi": False, "shaw": True}


def test_a_rate_at_which_a_seed_diverged_is_not_chosen(tmp_path):
    chosen = choose(tmp_path, {"1": [(0.2, 1.0)] * 2, "2": [(0.0, 0.3), (math.inf, 0.3)]})
    assert selection.setting(chosen, "rope") == "1"


@pytest.mark.parametrize(
    ("runs", "failed", "best", "losses"),
    [
        # Seed 0 is harder than seed 1. Its run at rate 2 failed, so only seed 1 decides.
        ({"1": [0.9, 0.1], "2": [0.9, 0.2]}, "rope02", "1", [0.1, 0.2]),
        # A setting that diverged is chosen before one whose runs all failed.
        ({"1": [0.9], "2": [math.inf]}, "rope01", "2", [math.inf] * 2),
    ],
)
def test_a_failed_run_says_nothing_about_its_setting(tmp_path, runs, failed, best, losses):
    tuned(tmp_path, {rate: [(loss, 1.0) for loss in of_rate] for rate, of_rate in runs.items()})
    run = records.read_run(tmp_path, failed)
    records.write(tmp_path, {**run, "status": "failed", "rows": [], "exposure": None})
    chosen = selection.choose(frame.read(tmp_path))
    assert selection.setting(chosen, "rope") == best
    assert list(chosen.settings["loss"]) == losses


def test_an_override_is_shown_at_the_setting_that_was_chosen_as_trained(tmp_path):
    """Rate 1 is chosen. Only rate 2 was evaluated with a, and both were with b."""
    one, two = entries = [at_rate("rope", "1", 0.1, 1.0), at_rate("rope", "2", 0.5, 1.0)]
    one[1]["rows"] += [row("exact_match", 8, 0.1, override="b")]
    two[1]["rows"] += [row("exact_match", 8, 0.2, override=name) for name in "ab"]
    chosen = selection.choose(fake_study.study(tmp_path, *entries, tuned=[RATE]))
    shown = {name: values(chosen, name, 8) for name in chosen.by_name}
    assert shown == {"rope": [1.0], "rope, evaluated with b": [0.1]}


def test_after_two_stages_the_interval_takes_the_choice_as_given(tmp_path):
    outcomes = [0.1 * seed for seed in range(10)]
    chosen = choose(tmp_path, {"1": [(0.1, v) for v in outcomes], "2": [(0.2, 0.3)] * 3})
    cell = summary.of_metric(chosen, chosen.cases, dataclasses.replace(AT, show="iqm")).of("rope")
    plain = statistics.bootstrap([outcomes], statistics.interquartile_mean)
    assert cell.text == f"0.45{formats.bracket(plain)}"


def test_rates_that_as_many_seeds_solve_are_tied(tmp_path):
    runs = {"1": [(0.2, 0.9)], "2": [(0.1, 0.3)], "3": [(math.inf, 0.0)]}
    chosen = choose(tmp_path, runs)
    assert list(chosen.settings.query("is_tied")["loss"]) == [0.2, 0.1]
    table = choice_table.tuning(chosen)
    tied = table.rows[0][table.header.index("tied settings")]
    assert (tied.text, tied.value) == ("0.30–0.90 (2 of 3)", pytest.approx(0.6))


def test_without_tuned_axes_every_point_is_a_variant(tmp_path):
    found = fake_study.study(tmp_path, *(at_rate("rope", rate, 0.1, 1.0) for rate in "12"))
    assert selection.choose(found) is found


def test_the_interval_holds_what_choosing_adds(tmp_path):
    """Two rates of nearly one loss and outcomes 0.2 and 0.8: resamples choose either, though each
    rate alone does not vary.
    """
    one, two = [(0.4, 0.2), (0.6, 0.2)] * 6, [(0.6, 0.8), (0.41, 0.8)] * 6
    chosen = choose(tmp_path, {"1": one, "2": two})
    found = interval(chosen)
    assert (found.low, found.high) == pytest.approx((0.2, 0.8))
    cell = summary.of_metric(chosen, chosen.cases, dataclasses.replace(AT, show="iqm")).of("rope")
    assert cell.interval == found
    assert statistics.center(values(chosen, "rope", 8)).interval.kind == "constant"


def test_a_choice_that_every_resample_makes_adds_nothing(tmp_path):
    outcomes = [i / 11 for i in range(12)]
    chosen = choose(tmp_path, {"1": [(0.1, v) for v in outcomes], "2": [(0.9, 1.0)] * 12})
    alone = statistics.bootstrap([outcomes], statistics.interquartile_mean)
    found = interval(chosen)
    assert found.kind == "BCa"
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))


def test_fewer_than_ten_shared_seeds_have_no_such_interval(tmp_path):
    assert interval(choose(tmp_path, {"1": [(0.1, 0.5)] * 12, "2": [(0.9, 1.0)] * 9})) is None


def test_a_run_without_a_number_leaves_the_interval_of_the_choice_to_the_others(tmp_path):
    one, two = [(0.4, 0.2), (0.6, 0.2)] * 6, [(0.6, 0.8), (0.41, 0.8)] * 5 + [(0.6, 0.8)]
    chosen = choose(tmp_path, {"1": one, "2": two})
    cell = summary.of_metric(chosen, chosen.cases, dataclasses.replace(AT, show="iqm")).of("rope")
    assert cell.interval == interval(chosen)


def test_settings_are_compared_on_the_seeds_that_all_of_them_have(tmp_path):
    """The chosen rate has four seeds. Two of them do not count
    here.
    """
    four = [(0.1, 0.5), (0.1, 0.5), (0.9, 0.2), (0.9, 0.2)]
    chosen = choose(tmp_path, {"1": [(0.3, 1.0)] * 2, "2": four, "4": [(0.2, 0.0)] * 2})
    assert selection.setting(chosen, "rope") == "2"
    assert values(chosen, "rope", 8) == [0.5, 0.5, 0.2, 0.2]
    assert list(chosen.settings["runs"]) == [2, 2, 2]
    assert not chosen.settings["is_at_edge"].any()
    assert chosen.by_name["rope"]["solved"] == 4
    assert list(chosen.settings.query("is_tied")["setting"]) == ["1", "2", "4"]


def test_the_table_of_a_choice_shows_the_loss_that_decided(tmp_path):
    """The mean over the first two seeds, which both rates have, and not over all three."""
    losses = {"1": (0.4, 0.6), "2": (0.1, 0.3, 0.9)}
    runs = {rate: [(loss, 1.0) for loss in of_rate] for rate, of_rate in losses.items()}
    table = choice_table.tuning(choose(tmp_path, runs))
    shown = dict(zip(table.header, table.rows[0], strict=True))
    assert (shown["chosen"].text, shown["validation loss"].text) == ("2 (edge)", "0.2")
