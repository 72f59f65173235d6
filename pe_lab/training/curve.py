"""The curves of a run group: one point for each evaluation during training."""

import numpy as np
from jaxtyping import Float, Int

from pe_lab.runs import records
from pe_lab.runs.evaluation_points import EvaluationPoint
from pe_lab.runs.record_schema import CurvePoint
from pe_lab.training.checks import out_of_reach
from pe_lab.training.evaluate import Evaluator
from pe_lab.training.setup import Setup
from pe_lab.training.state import TrainState

Curve = list[CurvePoint]


def extend(
    curves: list[Curve],
    evaluator: Evaluator,
    state: TrainState,
    loss: Float[np.ndarray, "r"] | None,
) -> None:
    """Add a point to the curve of every member that still trained.

    Args:
      loss: of the last chunk; None before training.
    """
    points = _points(evaluator, state, loss)
    stops = np.array(state.stop_at).tolist()
    for curve, point, stop_at in zip(curves, points, stops, strict=True):
        # A member that stopped keeps its last point while the others of its group go on.
        if not curve or curve[-1]["step"] < stop_at:
            point["step"] = min(point["step"], stop_at)
            curve.append(point)


def _points(
    evaluator: Evaluator,
    state: TrainState,
    loss: Float[np.ndarray, "r"] | None,
) -> list[CurvePoint]:
    """The point of each member: losses, exact match and scales of its present parameters."""
    step = int(np.asarray(state.step)[0])
    evaluate = evaluator.setup.run.evaluate
    losses: list[float | None] = [None] * len(state.step)
    if loss is not None:
        losses = [finite(value) for value in loss]
    points: list[CurvePoint] = []
    for value in losses:
        points.append({"step": step, "loss": value, "exact_match": {}, "scale_ratio": []})
    for length in evaluate.curve_lengths:
        # A learned table may be too short for this length. The curve then has no value there.
        if out_of_reach(evaluator.setup, length, 0):
            continue
        evaluation_point = EvaluationPoint("validation", length, 0)
        measurements = evaluator.measure(state.params, evaluation_point, evaluate.curve_examples)
        for point, measurement in zip(points, measurements, strict=True):
            exact_match = measurement.sums.metrics["exact_match"]
            num_correct = int(exact_match.total)
            point["exact_match"][str(length)] = num_correct / evaluate.curve_examples
            point["scale_ratio"] = [finite(ratio) for ratio in measurement.scale_ratio]
    return points


def stops(
    curves: list[Curve],
    state: TrainState,
    setup: Setup,
) -> Int[np.ndarray, "r"]:
    """The step at which each member stops, a few after the criterion is met."""
    step = int(np.asarray(state.step)[0])
    train = setup.run.train
    stop_at = np.array(state.stop_at)
    if train.criterion is None:
        return stop_at
    threshold = train.criterion
    if threshold == "solved":
        threshold = setup.task.threshold
    for index, curve in enumerate(curves):
        point = curve[-1]
        has_stopped = point["step"] != step
        # A member that has met the criterion keeps its stop, even if it gets worse.
        will_stop = stop_at[index] != train.steps
        if has_stopped or will_stop:
            continue
        trained_lengths = [n for n in point["exact_match"] if int(n) <= train.max_length]
        exact_match = [point["exact_match"][length] for length in trained_lengths]
        # A curriculum may still hold back the longest lengths. Runs that stop before it ends would
        # have different training lengths.
        has_met_criterion = records.solved(exact_match, threshold)
        if has_met_criterion and setup.length_shares(step)[train.max_length] > 0:
            stop_at[index] = min(step + train.extra_steps, train.steps)
    return stop_at


def mean_loss(
    losses: Float[np.ndarray, "r k"],
    first: int,
    stop_at: Int[np.ndarray, "r"],
) -> Float[np.ndarray, "r"]:
    """Mean loss of each member's steps from `first` on; NaN for one that stopped before."""
    steps = first + np.arange(losses.shape[1])
    is_trained = steps[None] < stop_at[:, None]
    total = losses.sum(axis=1, where=is_trained)
    num_trained = is_trained.sum(axis=1)
    with np.errstate(invalid="ignore"):  # 0 / 0 for a member that stopped before
        return total / num_trained


def finite(number: float | np.floating) -> float | None:
    """A number for a record, which has no NaN."""
    if not np.isfinite(number):
        return None
    return float(number)
