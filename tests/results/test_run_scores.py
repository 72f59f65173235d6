import itertools

import numpy as np
import pandas as pd
import pytest

from pe_lab.results import run_scores


def numbers(runs):
    """Rows of frame.read: {run_id: (solved, {length: exact match}, {length: loss})}, trained
    to 8.
    """
    rows = []
    for index, (run_id, (solved, tests, losses)) in enumerate(runs.items()):
        run = dict(run_id=run_id, rate="0.1", seed=index, solved=solved, max_length=8)
        common = dict(run, override="", offset=0)
        for length, value in tests.items():
            rows.append(
                dict(common, split="test", length=length, metric="exact_match", value=value)
            )
        for length, value in losses.items():
            measured = dict(common, split="validation", length=length)
            rows.append(dict(measured, metric="negative_log_likelihood", value=value))
    return pd.DataFrame(rows)


def test_a_run_has_one_row_with_its_multiples_and_means():
    frame = numbers({"a": (True, {8: 1.0, 12: 0.5, 16: 0.0}, {4: 0.1, 8: 0.3})})
    (run,) = run_scores.of(frame).to_dict("records")
    assert (run["run_id"], run["rate"], run["solved"]) == ("a", "0.1", True)
    assert (run["1x"], run["1.5x"], run["2x"]) == (1.0, 0.5, 0.0)
    assert "4x" not in run
    assert run[run_scores.LOSS] == pytest.approx(0.2)


def test_the_area_by_hand():
    """From 1x to 2x: 1 at 8, 0 at 16. The logarithm makes the triangle's area a half."""
    frame = numbers({"a": (True, {8: 1.0, 16: 0.0}, {}), "b": (True, {8: 1.0, 16: 1.0}, {})})
    assert list(run_scores.of(frame)[run_scores.AREA]) == pytest.approx([0.5, 1.0])
    frame = numbers({"a": (True, {8: 1.0, 16: 1.0, 32: 0.0}, {})})
    assert list(run_scores.of(frame)[run_scores.AREA]) == pytest.approx([0.75])


def test_overrides_and_offsets_do_not_count():
    frame = numbers({"a": (True, {8: 1.0}, {})})
    other = frame.assign(override="linear", value=0.0)
    shifted = frame.assign(offset=8, value=0.0)
    (run,) = run_scores.of(pd.concat([frame, other, shifted])).to_dict("records")
    assert run["1x"] == 1.0


def runs_of(scores, solved=None):
    """Runs of one encoding from [rate, seed] of the score at 2x; the first rate has the lowest
    loss.
    """
    rows = []
    for rate, seed in itertools.product(range(len(scores)), range(len(scores[0]))):
        is_solved = True if solved is None else solved[rate][seed]
        row = {"encoding": "rope", "rate": rate, "seed": seed, "solved": is_solved}
        rows.append({**row, "2x": scores[rate][seed], run_scores.LOSS: 0.1 * (rate + 1)})
    return pd.DataFrame(rows)


def compared(runs):
    (row,) = run_scores.compare(runs, rows=["encoding"], setting="rate").to_dict("records")
    return row


def test_validation_chooses_by_its_loss_if_no_rate_solves_the_task():
    row = compared(runs_of([[0.2] * 4, [1.0] * 4], solved=[[False] * 4] * 2))
    assert (row["extrapolates"], row["solved"]) == (0, 0)
    assert np.isnan(row["reliably"])
    assert row["validation"] == pytest.approx(0.2)


def test_an_unsolved_run_does_not_count_as_one_that_extrapolates():
    row = compared(runs_of([[1.0, 1.0]], solved=[[True, False]]))
    assert (row["extrapolates"], row["solved"]) == (1, 1)
