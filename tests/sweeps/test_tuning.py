"""Two-stage tuning: the points of each stage, and the choice from records."""

import dataclasses
import math

import pytest

from pe_lab.results import frame
from pe_lab.runs import grid, record_rows, records, study_files
from pe_lab.runs.errors import UserError
from pe_lab.sweeps import status, study, sweep, tuning
from pe_lab.sweeps.plans import Plan
from pe_lab.sweeps.setups import Setups
from pe_lab.training import run_records
from tests import tiny

RATE = "train.learning_rate"
RATES = (1e-3, 3e-3, 1e-2)
POINTS = grid.product(
    {"model.encodings": [({"name": "rope"},), ({"name": "alibi"},)]}, {"seed": range(4)}
)
TUNE = tuning.Tuning({RATE: RATES}, seeds=2, extend=True)


def labels(points):
    return [tuple(choice.label for choice in point.values()) for point in points]


def expand(points, folder):
    return study.expand("fake", tiny.values(), points, folder)


def write(folder, run, loss, status="finished"):
    """A record with a validation loss."""
    record = run_records.blank(run)
    rows = []
    if status == "finished":
        rows = [record_rows.row("validation", 3, 0, "negative_log_likelihood", loss, 4)]
    exposure = {"max_length": run.train.max_length, "solved_threshold": 0.99}
    records.write(folder, {**record, "status": status, "rows": rows, "exposure": exposure})


def choose(folder, losses, tune=TUNE):
    """The choices from records whose losses are given by (encoding, rate) for each seed."""
    points = tuning.first_points(POINTS, tune)
    asked = expand(points, folder)
    for entry in asked.entries:
        of_seeds = losses[entry.labels["model.encodings"], float(entry.labels[RATE])]
        loss = of_seeds[entry.run.seed]
        if isinstance(loss, str):
            write(folder, entry.run, None, loss)
        else:
            write(folder, entry.run, loss)
    return tuning.choose(asked, points, tune, folder)


LOSSES = {
    ("rope", 1e-3): (1.0, 1.0),
    ("rope", 3e-3): (0.2, 0.6),
    ("rope", 1e-2): (0.1, 0.9),
    ("alibi", 1e-3): (3.0, 3.0),
    ("alibi", 3e-3): (2.0, 2.0),
    ("alibi", 1e-2): (1.0, 1.5),
}


def test_the_first_stage_has_every_setting_with_the_first_seeds():
    first = tuning.first_points(POINTS, TUNE)
    assert labels(first)[:6] == [
        ("rope", "0.001", "0"),
        ("rope", "0.001", "1"),
        ("rope", "0.003", "0"),
        ("rope", "0.003", "1"),
        ("rope", "0.01", "0"),
        ("rope", "0.01", "1"),
    ]
    assert len(first) == 2 * 3 * 2


def test_the_lowest_mean_validation_loss_is_chosen_and_edges_are_named(tmp_path):
    rope, alibi = choose(tmp_path, LOSSES)
    assert (rope.setting[RATE].value, rope.edges) == (3e-3, ())
    assert (alibi.setting[RATE].value, alibi.edges) == (1e-2, (RATE,))
    assert rope.losses[((RATE, "0.01"),)] == pytest.approx(0.5)


def test_the_second_stage_has_the_other_seeds_with_the_choice_alone(tmp_path):
    last = tuning.last_points(POINTS, TUNE, choose(tmp_path, LOSSES))
    assert labels(last) == [
        ("rope", "0.003", "2"),
        ("rope", "0.003", "3"),
        ("alibi", "0.01", "2"),
        ("alibi", "0.01", "3"),
    ]


@pytest.mark.slow
def test_a_best_value_at_an_edge_gets_one_value_beyond_it(tmp_path):
    more = tuning.extended_points(POINTS, TUNE, choose(tmp_path, LOSSES))
    assert labels(more) == [("alibi", "0.033", "0"), ("alibi", "0.033", "1")]
    at_the_lower_edge = LOSSES | {("rope", 1e-3): (0.0, 0.0)}
    more = tuning.extended_points(POINTS, TUNE, choose(tmp_path, at_the_lower_edge))
    assert labels(more)[0] == ("rope", "0.00033", "0")


def test_a_choice_is_described_with_its_edge(tmp_path):
    rope, alibi = choose(tmp_path, LOSSES)
    assert tuning.describe(rope) == f"rope has the lowest validation loss with {RATE} 0.003"
    assert tuning.describe(alibi).endswith(f"{RATE} 0.01 (edge)")


def test_a_setting_that_diverged_loses(tmp_path):
    rope, _ = choose(tmp_path, LOSSES | {("rope", 3e-3): (0.0, "diverged")})
    assert rope.setting[RATE].value == 1e-2
    assert rope.losses[((RATE, "0.003"),)] == math.inf


def test_a_variant_that_diverged_everywhere_is_described_so(tmp_path):
    diverged = dict.fromkeys(LOSSES, ("diverged", "diverged"))
    rope, _ = choose(tmp_path, diverged)
    assert tuning.describe(rope).startswith("rope diverged with every setting, and keeps ")


def test_whole_numbers_are_extended_by_whole_numbers():
    layers = tuning.Tuning({"model.num_layers": (2, 4, 8)}, seeds=2, extend=True)
    extensions = tuning.possible_extensions(layers)
    assert extensions == [("model.num_layers", 1), ("model.num_layers", 16)]
    assert all(isinstance(value, int) for _, value in extensions)
    assert tuning.possible_extensions(TUNE) == [(RATE, 0.00033), (RATE, 0.033)]


def test_an_extension_is_a_new_value_above_zero():
    layers = tuning.Tuning({"model.num_layers": (1, 2, 4)}, seeds=2, extend=True)
    assert tuning.possible_extensions(layers) == [("model.num_layers", 8)]
    close = tuning.Tuning({RATE: (1.0, 1.02)}, seeds=2, extend=True)
    (_, below), (_, above) = tuning.possible_extensions(close)
    assert below < 1.0 < 1.02 < above


def test_failed_runs_are_left_out_of_a_choice(tmp_path):
    losses = LOSSES | {("alibi", 1e-2): ("failed", 0.5), ("alibi", 3e-3): ("failed", "failed")}
    _, alibi = choose(tmp_path, losses)
    assert alibi.losses == {((RATE, "0.001"),): 3.0, ((RATE, "0.01"),): 0.5}


def test_a_variant_whose_runs_all_failed_has_no_second_stage(tmp_path):
    losses = {key: ("failed", "failed") if key[0] == "rope" else LOSSES[key] for key in LOSSES}
    tuned = choose(tmp_path, losses)
    assert [choice.variant for choice in tuned] == [(("model.encodings", "alibi"),)]


def test_the_study_file_holds_the_choices(tmp_path):
    losses = LOSSES | {("rope", 1e-3): ("diverged", "diverged")}
    rope, alibi = tuning.plain(TUNE, choose(tmp_path, losses), later_runs=0)["choices"]
    assert rope["setting"] == {RATE: "0.003"}
    assert rope["losses"][0] == {"setting": {RATE: "0.001"}, "validation_loss": None}
    assert alibi["edges"] == [RATE]


def test_a_study_between_its_stages_lacks_the_later_runs(tmp_path):
    stage = tuning.first_points(POINTS, TUNE)
    later_runs = tuning.num_later_points(POINTS, TUNE)
    assert later_runs == 4  # two seeds of two variants
    values = tuning.plain(TUNE, [], later_runs)
    first = dataclasses.replace(expand(stage, tmp_path), tuning=values)
    for run in first.runs:
        write(tmp_path, run, 1.0)
    sweep.write_groups(Plan(first, tmp_path, (), 0, None, {}, Setups()))
    assert frame.read(tmp_path).missing == later_runs
    assert status.read(tmp_path).later_runs == later_runs

    all_points = stage + tuning.last_points(POINTS, TUNE, choose(tmp_path, LOSSES))
    expand(all_points, tmp_path).write(tmp_path)
    assert (frame.read(tmp_path).missing, status.read(tmp_path).later_runs) == (later_runs, 0)
    # The first stage of a complete study is run again if one of its runs failed.
    sweep.write_groups(Plan(first, tmp_path, (), 0, None, {}, Setups()))
    _, entries = study_files.study_of(tmp_path)
    assert len(entries) == len(all_points)


@pytest.mark.parametrize(
    ("tune", "sentence"),
    [
        ({"axis": {}}, r"^tune has no 'axis'"),
        (lambda: {"seeds": 2}, r"^tune is a dict, such as .*, and no function, got <function"),
        ({"seeds": 2}, r"^tune: axes must name values by path, .*, got None\.$"),
        ({"axes": {RATE: (1e-3,)}, "seeds": 2}, r"needs two or more values, got \(0\.001,\)\.$"),
        ({"axes": {"seed": (1, 2)}, "seeds": 2}, r"^tune: 'seed' cannot be tuned\."),
        ({"axes": {RATE: RATES}, "seeds": 0}, r"^tune: seeds must be a whole number .*, got 0\.$"),
        ({"axes": {RATE: RATES}, "seeds": 1, "extend": 2}, r"^tune: extend must be True or False"),
        (
            {"axes": {"model.norm": ("rms", "layer")}, "seeds": 1, "extend": True},
            r"^tune: extend needs positive numbers on every axis, got .* for 'model.norm'\.$",
        ),
        ({"axes": {RATE: (0.0, 1e-3)}, "seeds": 1, "extend": True}, r"needs positive numbers"),
    ],
)
def test_a_tuning_that_cannot_be_used_is_refused_in_one_sentence(tune, sentence):
    with pytest.raises(UserError, match=sentence):
        tuning.read(tune)


def test_an_axis_that_the_sweep_has_cannot_be_tuned():
    points = grid.product({RATE: RATES}, {"seed": range(2)})
    with pytest.raises(UserError, match=r"^The axis 'train\.learning_rate' is in sweep\(\) and"):
        tuning.first_points(points, TUNE)
