"""All numbers of a trained run, as rows that JSON can hold. Layers and heads count from 1, as in
the pictures.
"""

import collections
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pe_lab.inspection.trained import (
    failure_kinds,
    four_terms,
    input_embeddings,
    knock_outs,
    linear_probe,
)
from pe_lab.inspection.trained.loaded_model import (
    FirstExample,
    LoadedModel,
    Observations,
    out_of_reach,
)
from pe_lab.results import metrics
from pe_lab.training.setup import Setup
from pe_lab.training.trained_runs import TrainedRun

Rows = list[dict[str, Any]]
BEFORE, AFTER = "before training", "after training"


@dataclasses.dataclass(frozen=True)
class TrainingCourse:
    """What was found at the steps whose parameters were kept; without rows where none were.

    Attributes:
      terms, attention: one row a step, attention, layer and head.
      input: of codes that are added to tokens, one row a step.
      curve: the step and the validation exact match by length, from the record.
      threshold: the exact match at which the task is solved.
      solved_at: the first step of the curve where the mean over the lengths up to the training
        length reaches the threshold; None if there is none.
    """

    terms: Rows
    attention: Rows
    input: Rows
    curve: Rows
    threshold: float
    solved_at: int | None


@dataclasses.dataclass(frozen=True)
class Findings:
    """What was found of one run.

    Attributes:
      about: what was looked at: the run, its task, lengths, examples.
      input: of codes that are added to tokens, one row a state of training.
      terms, attention, probes: one row a state of training, length, attention or stack, layer and,
        of the first two, head.
      knock_out: one row an encoding, layer and head that are off, and length; with nothing off
        first.
      failures: one row a length.
      through: what is known of the states between.
      reasons: why something is not there.
      seen: length -> what the final model did with the first example, for the pictures.
    """

    about: dict[str, Any]
    input: Rows
    terms: Rows
    attention: Rows
    probes: Rows
    knock_out: Rows
    failures: Rows
    through: TrainingCourse
    reasons: list[str]
    seen: dict[int, FirstExample]

    def to_json(self) -> dict[str, Any]:
        told = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "seen"}
        return {**told, "through": dataclasses.asdict(self.through)}


def find(
    finished: TrainedRun,
    lengths: Sequence[int],
    num_examples: int | None = None,
    kept: Iterable[tuple[int, Any]] = (),
) -> Findings:
    """Looks at a run's test examples of these lengths, and before and through training at those of
    the first.

    Args:
      kept: the parameters after so many steps, in order.

    Raises:
      UserError: it cannot be given one of them.
    """
    bench = LoadedModel(
        finished, lengths, **({} if num_examples is None else {"num_examples": num_examples})
    )
    initial = bench.initial()
    before = [] if initial is None else [_look(bench, lengths[0], {"when": BEFORE}, initial)]
    after = [_look(bench, n, {"when": AFTER}) for n in lengths]
    looks = [*before, *after]
    why = input_embeddings.why_not(finished.setup)
    at_input = None if why else input_embeddings.numbers(bench, lengths[0])
    ends = {AFTER: bench.params} if initial is None else {BEFORE: initial, AFTER: bench.params}
    reasons = (
        []
        if initial is not None
        else ["It started from another run, so nothing is shown of the state before training."]
    )
    return Findings(
        about=_about(finished, bench, lengths),
        input=[{"when": when, **at_input(params)} for when, params in ends.items()]
        if at_input
        else [],
        terms=[row for look in looks for row in look.terms],
        attention=[row for look in looks for row in look.attention],
        probes=[row for look in looks for row in look.probes],
        knock_out=[row for n in lengths for row in _knocked_out(bench, n)],
        failures=[_failures(bench, n) for n in lengths],
        through=_through(finished, bench, lengths[0], kept, at_input),
        reasons=[*reasons, *([] if why is None else [why])],
        seen={n: look.shown for n, look in zip(lengths, after, strict=True)},
    )


@dataclasses.dataclass(frozen=True)
class _Look:
    """Rows of one state at one length, and the little that is shown: all that was observed would
    not fit for every length at once.
    """

    terms: Rows
    attention: Rows
    probes: Rows
    shown: FirstExample


def _look(bench: LoadedModel, length: int, when: dict[str, Any], params: Any = None) -> _Look:
    state, seen = {**when, "length": length}, bench.observe(length, params)
    return _Look(_terms(state, seen), _attention(state, seen), _probes(state, seen), seen.shown)


def lengths_of(finished: TrainedRun, asked: Sequence[int] | None) -> tuple[int, ...]:
    """Those asked for, each once; else the training length, and one and a half times and twice that
    as far as the run can be given it.
    """
    if asked:
        return tuple(dict.fromkeys(asked))
    longest = finished.setup.run.train.max_length
    found = [longest]
    for length in (longest * 3 // 2, 2 * longest):
        if out_of_reach(finished.setup, length) is not None:
            break
        found.append(length)
    return tuple(dict.fromkeys(found))


def _about(finished: TrainedRun, bench: LoadedModel, lengths: Sequence[int]) -> dict[str, Any]:
    run = finished.setup.run
    return {
        "run_id": run.run_id,
        "config": finished.record["config"],
        "unit": finished.setup.task.length_name,
        "trained_length": run.train.max_length,
        "lengths": list(lengths),
        "examples": bench.num_examples,
        "greedy": not bench.forced,
        "end_token": bench.end is not None,
    }


def _through(
    finished: TrainedRun,
    bench: LoadedModel,
    length: int,
    kept: Iterable[tuple[int, Any]],
    at_input: Callable[[Any], dict[str, Any]] | None,
) -> TrainingCourse:
    curve = [
        {"step": point["step"], "exact_match": point["exact_match"]}
        for point in finished.record["curve"]
    ]
    found = TrainingCourse(
        [], [], [], curve, finished.setup.task.threshold, _solved_at(finished.setup, curve)
    )
    for step, params in kept:
        look = _look(bench, length, {"step": step}, params)
        found.terms.extend(look.terms)
        found.attention.extend(look.attention)
        found.input.extend([] if at_input is None else [{"step": step, **at_input(params)}])
    return found


def _solved_at(setup: Setup, curve: Rows) -> int | None:
    """The first step at which `metrics.solved` holds for a point of the curve."""
    exposure = {"max_length": setup.run.train.max_length, "solved_threshold": setup.task.threshold}
    of_validation = {
        "split": "validation",
        "metric": "exact_match",
        "override": None,
        "sources": None,
    }
    for point in curve:
        rows = [
            {**of_validation, "length": int(length), "value": value}
            for length, value in point["exact_match"].items()
        ]
        if metrics.solved({"status": "finished", "exposure": exposure, "rows": rows}):
            return point["step"]
    return None


def _terms(state: dict[str, Any], seen: Observations) -> Rows:
    rows = []
    for name in seen.q:
        for layer, (q, k, mask) in enumerate(
            zip(seen.q[name], seen.k[name], seen.mask[name], strict=True), start=1
        ):
            sees, seen_by = (np.asarray(mask.any(axis=axes)) for axes in ((1, 3), (1, 2)))
            found = four_terms.shares(
                four_terms.by_place(q, sees),
                four_terms.by_place(k, seen_by),
                mask,
                one_stream=name != "cross",
            )
            for head in range(q.shape[2]):
                shares = dict(
                    zip(four_terms.TERMS, map(_number, found.shares[:, head]), strict=True)
                )
                more = {
                    "together": _number(found.together[head]),
                    "nearness": _number(found.nearness[head]),
                }
                rows.append(
                    {**state, "attention": name, "layer": layer, "head": head + 1, **shares, **more}
                )
    return rows


def _attention(state: dict[str, Any], seen: Observations) -> Rows:
    return [
        {**state, "attention": name, "layer": layer, "head": head + 1}
        | {
            key: None if name == "cross" and key == "distance" else values[head]
            for key, values in found.items()
        }
        for name, layers in seen.attention.items()
        for layer, found in enumerate(layers, start=1)
        for head in range(len(found["entropy"]))
    ]


def _probes(state: dict[str, Any], seen: Observations) -> Rows:
    rows = []
    for name, states in seen.hidden.items():
        for layer, hidden in enumerate(states):  # 0 is what enters the first
            found = linear_probe.of_place(hidden, seen.valid[name])
            values = {"r2": None, "error": None} if found is None else dataclasses.asdict(found)
            rows.append({**state, "stack": name, "layer": layer, **values})
    return rows


def _knocked_out(bench: LoadedModel, length: int) -> Rows:
    def row(
        encoding: str | None,
        where: str | None,
        layer: int | None,
        head: int | None,
        off: knock_outs.SwitchedOff,
    ) -> dict[str, Any]:
        place = {
            "layer": None if layer is None else layer + 1,
            "head": None if head is None else head + 1,
        }
        return {
            "encoding": encoding,
            "where": where,
            **place,
            "length": length,
            **bench.score(length, off),
        }

    none = row(None, None, None, None, knock_outs.nothing_off(bench.setup))
    return [
        none,
        *(row(k.encoding, k.where, k.layer, k.head, k.off) for k in knock_outs.all_of(bench.setup)),
    ]


def _failures(bench: LoadedModel, length: int) -> dict[str, Any]:
    pairs = bench.said(length)
    kinds = collections.Counter(failure_kinds.kind(said, right, bench.end) for said, right in pairs)
    failed = len(pairs) - kinds[None]
    at = [failure_kinds.first_error(*pair) for pair in pairs]
    most = max(len(right) for _, right in pairs)
    places = collections.Counter(
        a for a, (_, right) in zip(at, pairs, strict=True) if a < len(right)
    )
    return {
        "length": length,
        "examples": len(pairs),
        "failed": failed,
        "shares": {kind: kinds[kind] / failed if failed else None for kind in failure_kinds.KINDS},
        "first_error": [places[place] for place in range(most)],
    }


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
