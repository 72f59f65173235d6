import numpy as np
import pandas as pd
import pytest

from pe_lab.contrib.grids import run_scores


def numbers(tests, losses=(), **changes):
    """Rows of frame.read of one run that was trained to 8: exact match and loss by length."""
    measured = [("test", "exact_match", tests), ("validation", "negative_log_likelihood", losses)]
    run = dict(
        variant="rope",
        run_id="a",
        rate="0.1",
        seed=0,
        solved=True,
        max_length=8,
        override="",
        offset=0,
    )
    rows = [
        {**run, "split": split, "length": length, "metric": metric, "value": value, **changes}
        for split, metric, values in measured
        for length, value in dict(values).items()
    ]
    return pd.DataFrame(rows)


def test_a_run_has_one_row_with_its_multiples_and_means():
    frame = numbers({8: 1.0, 12: 0.5, 16: 0.0}, losses={4: 0.1, 8: 0.3})
    (run,) = run_scores.of(frame).to_dict("records")
    assert (run["run_id"], run["rate"], run["solved"]) == ("a", "0.1", True)
    assert (run["1x"], run["1.5x"], run["2x"]) == (1.0, 0.5, 0.0)
    assert "4x" not in run
    assert run[run_scores.LOSS] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("tests", "area"),
    [
        ({8: 1.0, 16: 0.0}, 0.5),  # the logarithm makes the triangle's area a half
        ({8: 1.0, 16: 1.0}, 1.0),
        ({8: 1.0, 16: 1.0, 32: 0.0}, 0.75),
    ],
)
def test_the_area_by_hand(tests, area):
    assert list(run_scores.of(numbers(tests))[run_scores.AREA]) == pytest.approx([area])


def test_overrides_and_offsets_do_not_count():
    others = (numbers({8: 0.0}, override="linear"), numbers({8: 0.0}, offset=8))
    (run,) = run_scores.of(pd.concat([numbers({8: 1.0}), *others])).to_dict("records")
    assert run["1x"] == 1.0


def compared(scores, solved):
    """The comparison of one encoding from [rate, seed] of the score at 2x; the first rate has the
    lowest loss.
    """
    rows = []
    for rate, seed in np.ndindex(np.shape(scores)):
        run = {"encoding": "rope", "rate": rate, "seed": seed, "solved": solved[rate][seed]}
        rows.append({**run, "2x": scores[rate][seed], run_scores.LOSS: 0.1 * (rate + 1)})
    table = run_scores.compare(pd.DataFrame(rows), rows=["encoding"], setting="rate")
    (row,) = table.to_dict("records")
    return row


def test_validation_chooses_by_its_loss_if_no_rate_solves_the_task():
    row = compared([[0.2] * 4, [1.0] * 4], solved=[[False] * 4] * 2)
    assert (row["extrapolates"], row["solved"]) == (0, 0)
    assert np.isnan(row["reliably"])
    assert row["validation"] == pytest.approx(0.2)


def test_an_unsolved_run_does_not_count_as_one_that_extrapolates():
    row = compared([[1.0, 1.0]], solved=[[True, False]])
    assert (row["extrapolates"], row["solved"], row["reliably"]) == (1, 1, 1.0)


def test_reliably_is_the_share_of_the_solved_runs_that_extrapolate():
    row = compared([[1.0, 0.9, 0.0, 1.0]], solved=[[True, True, True, False]])
    assert (row["extrapolates"], row["solved"], row["reliably"]) == (2, 3, 2 / 3)


@pytest.mark.parametrize(("seeds", "has_interval"), [(4, False), (5, True)])
def test_bootstrap_intervals_begin_with_five_seeds(seeds, has_interval):
    row = compared([[0.0] * (seeds - 1) + [1.0]], solved=[[True] * seeds])
    assert [not np.isnan(row[name]) for name in ("best_low", "validation_high")] == [
        has_interval
    ] * 2
    assert row["reliably_low"] < row["reliably_high"]  # of counts, which few seeds have too
