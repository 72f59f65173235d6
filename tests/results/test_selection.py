import dataclasses
import math

import pytest

from pe_lab.results import formats, frame, selection, standard_tables, statistics, summary, tables
from pe_lab.results.cells import Rows, choice_interval
from pe_lab.runs import record_rows, records
from pe_lab.runs.analysis_spec import MetricPoint, MetricSpec
from tests.results.fake_study import record, values, write_study

RATE = "train.learning_rate"
AT = MetricSpec("exact_match", MetricPoint(length=8))


def tuned(tmp_path, runs):
    """A study of runs {(encoding, rate): [(validation loss, exact match beyond training), a seed
    each]}.
    """
    entries = []
    for (encoding, rate), seeds in runs.items():
        for seed, (loss, outcome) in enumerate(seeds):
            status = "finished" if loss < math.inf else "diverged"
            made = record(
                f"{encoding}{rate}{seed}",
                seed,
                test={8: outcome},
                validation={4: 1.0},
                status=status,
            )
            if status == "finished":
                made["rows"].append(
                    record_rows.row("validation", 4, 0, "negative_log_likelihood", loss, 100)
                )
            entries.append(({"model.encodings": encoding, RATE: rate, "seed": str(seed)}, made))
    return frame.read(write_study(tmp_path, *entries, analysis={"tuned": [RATE]}))


def interval(chosen):
    """The interval of exact match at length 8 that includes the choice."""
    labels = chosen.settings[["variant", "candidate"]].assign(place=range(len(chosen.settings)))
    cases = chosen.candidates.merge(labels, on=["variant", "candidate"])
    values = summary.values_at(chosen, cases, AT.name, AT.point)
    return choice_interval(Rows(values.to_dict("list"), range(len(values))))


def test_the_rate_of_the_least_validation_loss_is_chosen_whatever_the_test_says(tmp_path):
    found = tuned(
        tmp_path,
        {
            ("rope", "1"): [(0.2, 1.0)] * 2,
            ("rope", "2"): [(0.1, 0.3)] * 2,
            ("alibi", "1"): [(0.1, 0.5)] * 2,
        },
    )
    chosen = selection.choose(found)
    assert [
        (name, selection.setting(chosen, name), values(chosen, name, 8)) for name in chosen.by_name
    ] == [
        ("rope", "2", [0.3, 0.3]),
        ("alibi", "1", [0.5, 0.5]),
    ]
    assert [len(selection.settings_of(chosen, name)) for name in chosen.by_name] == [2, 1]


@pytest.mark.parametrize(
    ("best", "shown"),
    [("0.001", "0.001 (edge)"), ("0.003", "0.003"), ("0.01", "0.01 (edge)")],
)
def test_a_rate_at_the_edge_of_its_grid_is_flagged(tmp_path, best, shown):
    losses = {rate: 0.1 if rate == best else 0.2 for rate in ("0.01", "0.001", "0.003")}
    found = tuned(tmp_path, {("rope", rate): [(loss, 0.5)] for rate, loss in losses.items()})
    table = standard_tables.tuning(selection.choose(found))
    assert table.rows[0][1].text == shown
    note = "(edge): the smallest or largest value tried; a wider grid may do better."
    assert (note in table.notes) == ("edge" in shown)
    assert (note in tables.markdown(found)) == ("edge" in shown)


def test_settings_are_in_the_order_of_their_numbers(tmp_path):
    rates = ("0.001", "0.01", "0.00033")  # the last one was added by `extend`
    found = tuned(tmp_path, {("rope", rate): [(0.1, 0.5)] for rate in rates})
    table = standard_tables.tuning(selection.choose(found))
    assert table.header[-3:] == ("0.00033", "0.001", "0.01")


@pytest.mark.parametrize("rates", [("0.001",), ("fast", "slow")])
def test_one_value_and_values_that_are_no_numbers_have_no_edge(tmp_path, rates):
    found = tuned(tmp_path, {("rope", rate): [(0.1, 0.5)] for rate in rates})
    settings = selection.choose(found).settings.to_dict("records")
    assert not selection.at_edge(settings, (RATE,))


def test_a_rate_at_which_a_seed_diverged_is_not_chosen(tmp_path):
    found = tuned(
        tmp_path,
        {("rope", "1"): [(0.2, 1.0), (0.2, 1.0)], ("rope", "2"): [(0.0, 0.3), (math.inf, 0.3)]},
    )
    assert selection.setting(selection.choose(found), "rope") == "1"


def test_settings_are_compared_on_the_seeds_that_did_not_fail(tmp_path):
    """Seed 0 is harder than seed 1. Its run at rate 2 failed, so only seed 1 decides."""
    found = tuned(
        tmp_path,
        {("rope", "1"): [(0.9, 1.0), (0.1, 1.0)], ("rope", "2"): [(0.9, 0.3), (0.2, 0.3)]},
    )
    found = failing(found, tmp_path, "rope20")
    chosen = selection.choose(found)
    assert selection.setting(chosen, "rope") == "1"
    assert list(chosen.settings["loss"]) == [0.1, 0.2]


def failing(found, folder, run_id):
    """The study with a run that failed."""
    made = records.read_run(folder, run_id)
    records.write(folder, {**made, "status": "failed", "rows": [], "exposure": None})
    return frame.read(folder)


def test_a_setting_that_diverged_is_chosen_before_one_whose_runs_all_failed(tmp_path):
    found = tuned(tmp_path, {("rope", "1"): [(0.9, 1.0)], ("rope", "2"): [(math.inf, 0.3)]})
    found = failing(found, tmp_path, "rope10")
    assert selection.setting(selection.choose(found), "rope") == "2"


def test_an_override_is_shown_at_the_setting_that_was_chosen_as_trained(tmp_path):
    """Rate 1 is chosen. Only rate 2 was evaluated with a, and both were with b."""
    overridden = {"1": ["b"], "2": ["a", "b"]}
    entries = []
    for rate, loss in (("1", 0.1), ("2", 0.5)):
        run = record(f"r{rate}", test={8: 1.0}, validation={4: 1.0})
        run["rows"].append(record_rows.row("validation", 4, 0, "negative_log_likelihood", loss, 9))
        for name in overridden[rate]:
            override = {"label": name, "positions": None, "encodings": None}
            override["reveals_target_length"] = False
            value = float(rate) / 10
            run["rows"].append(
                record_rows.row("test", 8, 0, "exact_match", value, 9, override=override)
            )
        entries.append(({"model.encodings": "rope", RATE: rate, "seed": "0"}, run))
    found = frame.read(write_study(tmp_path, *entries, analysis={"tuned": [RATE]}))
    chosen = selection.choose(found)
    assert [(name, values(chosen, name, 8)) for name in chosen.by_name] == [
        ("rope", [1.0]),
        ("rope, evaluated with b", [0.1]),
    ]


def test_after_two_stages_the_interval_takes_the_choice_as_given(tmp_path):
    found = tuned(
        tmp_path,
        {
            ("rope", "1"): [(0.1, 0.1 * seed) for seed in range(10)],
            ("rope", "2"): [(0.2, 0.3)] * 3,
        },
    )
    chosen = selection.choose(found)
    cell = summary.of_metric(chosen, chosen.cases, dataclasses.replace(AT, show="iqm")).of("rope")
    outcomes = [[0.1 * seed for seed in range(10)]]
    plain = statistics.bootstrap(outcomes, statistics.interquartile_mean)
    assert cell.text == f"0.45{formats.bracket(plain)}"


def test_rates_that_as_many_seeds_solve_are_tied(tmp_path):
    found = tuned(
        tmp_path,
        {
            ("rope", "1"): [(0.2, 0.9)],
            ("rope", "2"): [(0.1, 0.3)],
            ("rope", "3"): [(math.inf, 0.0)],
        },
    )
    settings = selection.choose(found).settings
    assert list(settings.loc[settings["is_tied"], "loss"]) == [0.2, 0.1]


def test_without_tuned_axes_every_point_is_a_variant(tmp_path):
    found = frame.read(
        write_study(
            tmp_path,
            ({RATE: "1", "seed": "0"}, record("a")),
            ({RATE: "2", "seed": "0"}, record("b")),
        )
    )
    assert selection.choose(found) is found


def test_the_interval_holds_what_choosing_adds(tmp_path):
    """Two rates of nearly one loss and outcomes 0.2 and 0.8: resamples choose either, though each
    rate alone does not vary.
    """
    losses = [(0.4, 0.6), (0.6, 0.41)] * 6
    runs = {
        ("rope", "1"): [(x, 0.2) for x, _ in losses],
        ("rope", "2"): [(y, 0.8) for _, y in losses],
    }
    chosen = selection.choose(tuned(tmp_path, runs))
    found = interval(chosen)
    assert (found.low, found.high) == pytest.approx((0.2, 0.8))
    assert statistics.center(values(chosen, "rope", 8)).interval.kind == "constant"


def test_a_choice_that_every_resample_makes_adds_nothing(tmp_path):
    outcomes = [i / 11 for i in range(12)]
    runs = {("rope", "1"): [(0.1, v) for v in outcomes], ("rope", "2"): [(0.9, 1.0)] * 12}
    chosen = selection.choose(tuned(tmp_path, runs))
    alone = statistics.bootstrap([outcomes], statistics.interquartile_mean)
    found = interval(chosen)
    assert (found.low, found.high, found.kind) == (
        pytest.approx(alone.low),
        pytest.approx(alone.high),
        "BCa",
    )


def test_fewer_than_ten_shared_seeds_have_no_such_interval(tmp_path):
    runs = {("rope", "1"): [(0.1, 0.5)] * 12, ("rope", "2"): [(0.9, 1.0)] * 9}
    assert interval(selection.choose(tuned(tmp_path, runs))) is None


def test_settings_are_compared_on_the_seeds_that_all_of_them_have(tmp_path):
    """After a tuning in two stages the chosen rate has four seeds. Two of them do not count
    here.
    """
    study = tuned(
        tmp_path,
        {
            ("rope", "1"): [(0.3, 1.0)] * 2,
            ("rope", "2"): [(0.1, 0.5), (0.1, 0.5), (0.9, 0.2), (0.9, 0.2)],
            ("rope", "4"): [(0.2, 0.0)] * 2,
        },
    )
    chosen = selection.choose(study)
    assert selection.setting(chosen, "rope") == "2"
    assert values(chosen, "rope", 8) == [0.5, 0.5, 0.2, 0.2]
    assert list(chosen.settings["runs"]) == [2, 2, 2]
    assert not chosen.settings["is_at_edge"].any()


def test_choices_at_an_edge_are_marked(tmp_path):
    losses = {"0.001": (0.1, 0.3, 0.2), "0.003": (0.2, 0.1, 0.3), "0.01": (0.3, 0.2, 0.1)}
    runs = {
        (name, rate): [(of_names[i], 0.5)]
        for rate, of_names in losses.items()
        for i, name in enumerate(("rope", "alibi", "shaw"))
    }
    chosen = selection.choose(tuned(tmp_path, runs))
    is_at_edge = chosen.settings.groupby("variant")["is_at_edge"].any()
    assert is_at_edge.to_dict() == {"rope": True, "alibi": False, "shaw": True}


def test_the_choice_of_two_stages_is_tied_by_the_seeds_that_all_settings_have(tmp_path):
    """The chosen rate has four seeds and the other two, all of them solved."""
    runs = {("rope", "1"): [(0.2, 1.0)] * 2, ("rope", "2"): [(0.1, 1.0)] * 4}
    chosen = selection.choose(tuned(tmp_path, runs))
    assert chosen.by_name["rope"]["solved"] == 4
    assert list(chosen.settings.query("is_tied")["setting"]) == ["1", "2"]


def test_the_table_of_a_choice_shows_the_loss_that_decided(tmp_path):
    """The mean over the first two seeds, which both rates have, and not over all three."""
    found = tuned(
        tmp_path,
        {
            ("rope", "1"): [(0.4, 1.0), (0.6, 1.0)],
            ("rope", "2"): [(0.1, 1.0), (0.3, 1.0), (0.9, 1.0)],
        },
    )
    table = standard_tables.tuning(selection.choose(found))
    row = dict(zip(table.header, table.rows[0], strict=True))
    assert (row["chosen"].text, row["validation loss"].text) == ("2 (edge)", "0.2")
