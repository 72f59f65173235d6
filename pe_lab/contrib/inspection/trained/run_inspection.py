"""Computes the findings of a run from its parameters and test examples."""

import collections
import dataclasses
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from jaxtyping import PyTree

from pe_lab.contrib.inspection.trained import (
    failure_kinds,
    four_terms,
    input_embeddings,
    knock_outs,
    linear_probe,
)
from pe_lab.contrib.inspection.trained.findings import (
    AFTER,
    BEFORE,
    DURING,
    FailureCounts,
    Findings,
    HeadAttention,
    HeadTerms,
    InspectedRun,
    KnockOutScore,
    LayerProbe,
    State,
    StateInput,
    TrainingCourse,
    ValidationPoint,
)
from pe_lab.contrib.inspection.trained.loaded_model import EXAMPLES, LoadedModel, out_of_reach
from pe_lab.contrib.inspection.trained.observations import FirstExample, Observations
from pe_lab.runs.records.record_schema import Record
from pe_lab.runs.studies import outcomes
from pe_lab.training.trained_runs import TrainedRun

InputParts = Callable[[PyTree], input_embeddings.InputParts]


def inspect_run(
    trained: TrainedRun,
    lengths: Sequence[int],
    num_examples: int = EXAMPLES,
    snapshots: Iterable[tuple[int, PyTree]] = (),
) -> Findings:
    """Findings at these lengths; before and during training at the first of them.

    Args:
      snapshots: steps and parameters during training, in order.

    Raises:
      UserError: the run has no examples or positions for a length.
    """
    model = LoadedModel(trained, lengths, num_examples)
    missing = []
    states = [(State(AFTER, trained.step, length), model.params) for length in lengths]
    initial = model.initial()
    if initial is None:
        missing.append("The state before training: this run started from another run.")
    else:
        states.insert(0, (State(BEFORE, 0, lengths[0]), initial))
    reason = input_embeddings.why_not(trained.setup)
    parts_of = None
    if reason is None:
        parts_of = input_embeddings.input_parts(model, lengths[0])
    else:
        missing.append(reason)
    # One state at a time: the activations of all states would not fit into memory.
    observed = [_observe(model, state, params) for state, params in states]
    first_examples = {o.state.length: o.first for o in observed if o.state.when == AFTER}
    inputs = []
    for state, params in states:
        if parts_of is not None and state.length == lengths[0]:
            inputs.append(StateInput(state, parts_of(params)))
    return Findings(
        run=_inspected_run(trained, model, lengths),
        input=inputs,
        terms=[row for o in observed for row in o.terms],
        attention=[row for o in observed for row in o.attention],
        probes=[row for o in observed for row in o.probes],
        knock_outs=[row for length in lengths for row in _knock_out_scores(model, length)],
        failures=[_failures(model, length) for length in lengths],
        course=_course(trained, model, lengths[0], snapshots, parts_of),
        missing=missing,
        first_examples=first_examples,
    )


def lengths_of(trained: TrainedRun, lengths: Sequence[int] | None) -> tuple[int, ...]:
    """The given lengths; by default 1, 1.5 and 2 times the training length, within reach."""
    if lengths:
        return tuple(dict.fromkeys(lengths))
    longest = trained_length(trained)
    within_reach = [longest]
    for length in (longest * 3 // 2, 2 * longest):
        if out_of_reach(trained.setup, length) is not None:
            break
        within_reach.append(length)
    return tuple(dict.fromkeys(within_reach))


def trained_length(trained: TrainedRun) -> int:
    """The longest length of the training, and of those of the runs from which it started."""
    exposure = trained.record["exposure"]
    assert exposure is not None  # the record of a run that has finished
    return exposure["max_length"]


def _inspected_run(trained: TrainedRun, model: LoadedModel, lengths: Sequence[int]) -> InspectedRun:
    run = trained.setup.run
    return InspectedRun(
        run_id=run.run_id,
        config=trained.record["config"],
        unit=trained.setup.task.length_name,
        trained_length=trained_length(trained),
        lengths=list(lengths),
        examples=model.num_examples,
        greedy=not model.one_pass,
        end_token=model.end_token is not None,
    )


@dataclasses.dataclass(frozen=True)
class _Observed:
    """The rows of one state."""

    state: State
    terms: list[HeadTerms]
    attention: list[HeadAttention]
    probes: list[LayerProbe]
    first: FirstExample


def _observe(model: LoadedModel, state: State, params: PyTree) -> _Observed:
    observations = model.observe(state.length, params)
    return _Observed(
        state,
        _terms(state, observations),
        _attention(state, observations),
        _probes(state, observations),
        observations.first,
    )


def _course(
    trained: TrainedRun,
    model: LoadedModel,
    length: int,
    snapshots: Iterable[tuple[int, PyTree]],
    parts_of: InputParts | None,
) -> TrainingCourse:
    curve = []
    for point in trained.record["curve"]:
        exact_match = {int(n): value for n, value in point["exact_match"].items()}
        curve.append(ValidationPoint(point["step"], exact_match))
    threshold = trained.setup.task.threshold
    course = TrainingCourse([], [], [], curve, threshold, solved_at(trained.record))
    for step, params in snapshots:
        state = State(DURING, step, length)
        observed = _observe(model, state, params)
        course.terms.extend(observed.terms)
        course.attention.extend(observed.attention)
        if parts_of is not None:
            course.input.append(StateInput(state, parts_of(params)))
    return course


def solved_at(record: Record) -> int | None:
    """The first step of the curve at which the run counts as solved."""
    # The rule of the tables, so that a report never contradicts them.
    first = outcomes.steps_to_solve(record)
    return first.step if first is not None and first.reached else None


def _terms(state: State, observations: Observations) -> list[HeadTerms]:
    rows = []
    for name in observations.q:
        layers = zip(
            observations.q[name], observations.k[name], observations.mask[name], strict=True
        )
        for layer, (q, k, mask) in enumerate(layers, start=1):
            # Padding has no visible keys and is visible to no query.
            valid_queries = np.asarray(mask.any(axis=(1, 3)))
            valid_keys = np.asarray(mask.any(axis=(1, 2)))
            shares = four_terms.shares(
                four_terms.split_by_position(q, valid_queries),
                four_terms.split_by_position(k, valid_keys),
                mask,
                one_stream=name != "cross",
            )
            for head in range(q.shape[2]):
                cc, cp, pc, pp = map(_finite, shares.shares[:, head])
                together = _finite(shares.together[head])
                nearness = _finite(shares.nearness[head])
                place = (state, name, layer, head + 1)
                rows.append(HeadTerms(*place, cc, cp, pc, pp, together, nearness))
    return rows


def _attention(state: State, observations: Observations) -> list[HeadAttention]:
    rows = []
    for name, layers in observations.attention.items():
        for layer, means in enumerate(layers, start=1):
            for head in range(len(means.entropy)):
                row = HeadAttention(
                    state,
                    name,
                    layer,
                    head + 1,
                    entropy=means.entropy[head],
                    # Positions of two streams have no distance.
                    distance=None if name == "cross" else means.distance[head],
                    aligned=means.aligned[head],
                    by_chance=means.by_chance[head],
                    sink_share=means.sink_share[head],
                )
                rows.append(row)
    return rows


def _probes(state: State, observations: Observations) -> list[LayerProbe]:
    rows = []
    for name, states in observations.hidden.items():
        for layer, hidden in enumerate(states):
            score = linear_probe.probe_position(hidden, observations.valid[name])
            r2 = None if score is None else score.r2
            error = None if score is None else score.error
            rows.append(LayerProbe(state, name, layer, r2, error))
    return rows


def _knock_out_scores(model: LoadedModel, length: int) -> list[KnockOutScore]:
    unchanged = model.score(length, knock_outs.nothing_off(model.setup))
    everything_on = (None, None, None, None)  # no encoding, attention, layer or head is off
    rows = [KnockOutScore(*everything_on, length, *dataclasses.astuple(unchanged))]
    for knock_out in knock_outs.all_knock_outs(model.setup):
        score = model.score(length, knock_out.off)
        row = KnockOutScore(
            knock_out.encoding,
            knock_out.where,
            layer=_from_one(knock_out.layer),
            head=_from_one(knock_out.head),
            length=length,
            exact_match=score.exact_match,
            token_accuracy=score.token_accuracy,
        )
        rows.append(row)
    return rows


def _from_one(index: int | None) -> int | None:
    """A number for readers, who count from 1."""
    return None if index is None else index + 1


def _failures(model: LoadedModel, length: int) -> FailureCounts:
    answers = model.answers(length)
    longest = max(len(answer.right) for answer in answers)
    kinds: collections.Counter[str | None] = collections.Counter()
    errors = [0] * longest
    for answer in answers:
        kinds[failure_kinds.kind(answer.tokens, answer.right, model.end_token)] += 1
        first = failure_kinds.first_error(answer.tokens, answer.right)
        if first < len(answer.right):
            errors[first] += 1
    num_failed = len(answers) - kinds[None]  # None is the kind of a right answer
    shares: dict[str, float | None] = dict.fromkeys(failure_kinds.KINDS)
    if num_failed:
        shares = {kind: kinds[kind] / num_failed for kind in failure_kinds.KINDS}
    return FailureCounts(
        length=length,
        examples=len(answers),
        failed=num_failed,
        shares=shares,
        first_error=errors,
    )


def _finite(value: np.floating | float) -> float | None:
    return float(value) if np.isfinite(value) else None
