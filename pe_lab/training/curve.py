"""The curves of a run group: one point for each evaluation during training."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from pe_lab.runs.records import records
from pe_lab.runs.records.evaluation_points import EvaluationPoint
from pe_lab.runs.records.record_schema import CurvePoint
from pe_lab.training.checks import out_of_reach
from pe_lab.training.costs import length_shares
from pe_lab.training.evaluate import Evaluator
from pe_lab.training.setup import Setup
from pe_lab.training.state import TrainState

Curve = list[CurvePoint]


class MeanLoss:
    """The mean loss of each member since the last point of its curve.

    Losses are added step by step, so that the mean does not depend on the chunks of a training.

    Attributes:
      total: sum of the losses.
      count: number of steps.
    """

    def __init__(
        self, total: Sequence[float | None] | np.ndarray, count: Sequence[int] | np.ndarray
    ):
        # float64, because float32 would lose digits in a sum of many losses.
        self.total = np.array(total, np.float64)  # None becomes NaN
        self.count = np.array(count)

    @classmethod
    def of_no_steps(cls, num_members: int) -> "MeanLoss":
        return cls(np.zeros(num_members), np.zeros(num_members, int))

    def add(
        self,
        losses: Float[np.ndarray, "r k"],
        first: int,
        ends: Int[np.ndarray, "r"],
    ) -> None:
        """Add the losses of the steps from `first` on; a member that has ended adds nothing."""
        # One step at a time: a sum over a chunk would add in another order.
        for step, of_step in enumerate(losses.T, start=first):
            is_trained = step < ends
            self.total += np.where(is_trained, of_step, 0)
            self.count += is_trained

    def value(self) -> Float[np.ndarray, "r"]:
        """The mean of each member; NaN without a step."""
        with np.errstate(invalid="ignore"):  # 0 / 0
            return self.total / self.count

    def notes(self) -> dict[str, list[object]]:
        """The arguments of the same mean in JSON, which has no NaN."""
        return {"total": [finite(number) for number in self.total], "count": self.count.tolist()}


def ends(state: TrainState) -> Int[np.ndarray, "r"]:
    """The step at which each member ends: it stops, or it diverges before that."""
    stop_at, diverged_at = np.array(state.stop_at), np.array(state.diverged_at)
    return np.where(diverged_at < 0, stop_at, np.minimum(stop_at, diverged_at))


def extend(
    curves: list[Curve],
    evaluator: Evaluator,
    state: TrainState,
    loss: Float[np.ndarray, "r"],
) -> None:
    """Add a point to the curve of every member that still trained.

    Args:
      loss: mean over the steps since the point before; NaN before training.
    """
    points = _points(evaluator, state, loss)
    for curve, point, end in zip(curves, points, ends(state).tolist(), strict=True):
        # A member that ended keeps its last point while the others of its group go on.
        if not curve or curve[-1]["step"] < end:
            # The shared clock may be past the step at which this member ended.
            point["step"] = min(point["step"], end)
            curve.append(point)


def _points(
    evaluator: Evaluator,
    state: TrainState,
    loss: Float[np.ndarray, "r"],
) -> list[CurvePoint]:
    """The point of each member: losses, exact match and scales of its present parameters."""
    step = int(np.asarray(state.step)[0])
    evaluate = evaluator.setup.run.evaluate
    points: list[CurvePoint] = []
    for value in loss:
        points.append({"step": step, "loss": finite(value), "exact_match": {}, "scale_ratio": []})
    for length in evaluate.curve_lengths:
        # A learned table may be too short for this length. The curve then has no value there.
        if out_of_reach(evaluator.setup, length, 0):
            continue
        # The validation split: a criterion reads these points, and must not see test examples.
        evaluation_point = EvaluationPoint("validation", length, 0)
        measurements = evaluator.measure(state.params, evaluation_point, evaluate.curve_examples)
        for point, measurement in zip(points, measurements, strict=True):
            exact_match = measurement.sums.metrics["exact_match"]
            num_correct = int(exact_match.total)
            point["exact_match"][str(length)] = num_correct / evaluate.curve_examples
            if evaluator.setup.task.is_text:
                loss_sums = measurement.sums.metrics["negative_log_likelihood"]
                of_length = finite(loss_sums.total / loss_sums.weight)
                point.setdefault("validation_loss", {})[str(length)] = of_length
            # Each length replaces the ratios of the one before: the last measured length counts.
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
        # Longer curve lengths show extrapolation, which must not decide when training ends.
        trained_lengths = [n for n in point["exact_match"] if int(n) <= train.max_length]
        exact_match = [point["exact_match"][length] for length in trained_lengths]
        # A curriculum may still hold back the longest lengths. Runs that stop before it ends would
        # have different training lengths.
        has_met_criterion = records.solved(exact_match, threshold)
        if has_met_criterion and length_shares(setup, step)[train.max_length] > 0:
            stop_at[index] = min(step + train.extra_steps, train.steps)
    return stop_at


def finite(number: float | np.floating) -> float | None:
    """A number for a record, which has no NaN."""
    if not np.isfinite(number):
        return None
    return float(number)
