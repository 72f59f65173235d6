"""The compiled evaluation: all metrics of a length from one forward pass.

For a causal model without dropout, "every target token is the argmax under teacher forcing, the end
included" is "greedy decoding is exactly right", so nothing is generated. An encoder fills its
blanks in one pass, so that what it gives is what is measured.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from pe_lab.kernels import microbatches
from pe_lab.model.transformer import Transformer
from pe_lab.runs import records
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import Plugin
from pe_lab.runs.run import Change, Run, plain
from pe_lab.tasks.base import Example
from pe_lab.training import devices, held_out, step
from pe_lab.training.finished import adopt
from pe_lab.training.held_out import SPLITS
from pe_lab.training.step import POSITIONS, Setup, contexts, out_of_reach, stream_key


def batch_sums(
    made: Setup,
    bound: int,
    params: Any,
    where: dict[str, Array],
    data: Any = None,
    frozen: Example | None = None,
) -> dict[str, Array]:
    """Counts and sums over one batch of examples of one length, for every replica.

    Args:
      bound: static; examples are drawn in the shapes of this length.
      where: traced integers: split, length, offset, first (index of the first example),
        num_examples.
      data: the task's of that split.
      frozen: the batch's examples; None: they are drawn.
    """
    index = where["first"] + jnp.arange(made.run.evaluate.batch_size)
    keys = held_out.keys(where["split"], where["length"], index)
    given = frozen
    if given is None:
        given = held_out.sample(
            made.evaluated_task, made.split_rule, keys, where["length"], bound, data
        )
    overlap = (
        held_out.can_be_trained(made, given, where["length"]) & (index < where["num_examples"])
    ).sum()
    given = jax.lax.optimization_barrier(
        given
    )  # what follows is compiled alike, drawn or read, and gives equal digits
    batch = jax.vmap(functools.partial(made.layout, made.task))(given)
    position_keys = jax.vmap(lambda k: stream_key(k, POSITIONS))(keys)
    batch, *streams = contexts(made, batch, position_keys, train=False, offset=where["offset"])
    read = {
        name: stream
        for name, stream in zip(("answering", "source"), streams, strict=True)
        if stream is not None
    }
    of_each = {name: step.by_example(stream) for name, stream in read.items()}
    asked = {name: getattr(batch, name) for name in ("labels", "target", "answer")}
    counted = jnp.broadcast_to((index < where["num_examples"])[:, None], batch.labels.shape)
    of_each["answering"] |= asked | {"counted": counted}
    evaluate = made.run.evaluate
    least = sum(made.num_tokens(min(evaluate.all_lengths)).values())

    def one(params):
        model, own = made.model(params), devices.share(of_each, made.batch_devices)
        masks = {name: leaves["mask"] for name, leaves in own.items()}
        plan = microbatches.plan(
            {name: mask.shape for name, mask in masks.items()},
            least=least,
            whole=not made.in_microbatches,
        )

        def sums(part, number):
            logits = model(*(step.cut(stream, part[name]) for name, stream in read.items()))
            return _sums(made, logits, part["answering"], batch.labels.shape[1])

        ratio = _code_ratio(
            model, [tuple(p[0] for p in s.positions) for s in reversed(streams) if s is not None]
        )
        found = microbatches.summed(plan, sums, own, masks)
        return devices.total(found, made.batch_devices) | {"code_ratio": ratio, "overlap": overlap}

    return made.side_by_side(one, params)


def _sums(made: Setup, logits: Array, part: dict[str, Array], num_places: int) -> dict[str, Array]:
    labels, target, counted = part["labels"], part["target"], part["counted"]
    finite = jnp.isfinite(logits).all(axis=-1)  # an argmax over NaN would be token 0
    right = finite & (logits.argmax(axis=-1) == labels)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    place = jnp.cumsum(target, axis=1) - 1
    said = target & ~(made.layout.end_token & (place == target.sum(axis=1, keepdims=True) - 1))
    wrong_at = jnp.where(target & ~right, place, num_places).min(axis=1)
    examples = counted[:, 0]
    return {
        "exact_match": ((right | ~target).all(axis=1) & examples).sum(),
        "exact_match_without_end": ((right | ~said).all(axis=1) & examples).sum(),
        "answer_exact_match": ((right | ~part["answer"]).all(axis=1) & examples).sum(),
        "tokens_right": (right & part["answer"] & counted).sum(),
        "tokens": (part["answer"] & counted).sum(),
        "losses": jnp.where(target & counted, losses, 0).sum(),
        "targets": (target & counted).sum(),
        "first_error": (
            (wrong_at[:, None] == jnp.arange(num_places)[None]) & examples[:, None]
        ).sum(axis=0),
        **_by_place(
            made, place, jnp.where(target & counted, losses, 0), target & counted, num_places
        ),
        "not_finite": (~(finite | ~target).all(axis=1) & examples).sum(),
    }


def _by_place(
    made: Setup, place: Array, losses: Array, targets: Array, num_places: int
) -> dict[str, Array]:
    """Of a text, the sum of the losses of each place and their number, [L] each."""
    if not made.task.by_place:
        return {}
    summed = functools.partial(
        jax.ops.segment_sum, segment_ids=jnp.maximum(place, 0).ravel(), num_segments=num_places
    )
    return {
        "place_losses": summed(losses.ravel()),
        "place_targets": summed(targets.astype(jnp.int32).ravel()),
    }


def _code_ratio(model: Transformer, positions: list[tuple[Array, ...]]) -> Array:
    """rms(code) / rms(scaled token embedding) of each stack's input encodings: who speaks
    louder.
    """

    def rms(x):
        return jnp.sqrt(jnp.square(x).mean())

    ratios = [
        rms(embedding) / rms(stack.embedding.embedding[...] * stack.embedding_scale)
        for stack, p in zip(model.stacks.values(), positions, strict=True)
        for embedding in stack.position_embeddings(tuple(of_scheme[None] for of_scheme in p))
    ]
    return jnp.stack(ratios) if ratios else jnp.zeros(0)


@dataclasses.dataclass(frozen=True)
class Place:
    """One point of an evaluation's grid."""

    split: str
    length: int
    offset: int
    change: Change | None = None

    def row(
        self, metric: str, value: Any, count: int, reason: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """A record's row; `more` is said of the change."""
        change = None if self.change is None else {**self.change.to_dict(), **more}
        return records.row(
            self.split, self.length, self.offset, metric, value, count, reason, change
        )

    @property
    def key(self) -> records.Place:
        return records.place_of(self.row("", None, 0))


def changed(made: Setup, change: Change) -> Setup:
    """A cell's setup with a change.

    Raises:
      UserError: the change does not fit the model, or needs parameters that it has not.
    """
    found = step.setup(change.apply(made.run), trained=False)
    adopt(made.abstract_params, made, found)
    return found


def grid(run: Run) -> list[Place]:
    """All that a run's config asks for.

    Validation is `validation_lengths` at offset 0; the test grid is lengths x offsets, for what was
    trained and for every change.
    """
    evaluate = run.evaluate
    validation = [Place("validation", n, 0) for n in evaluate.validation_lengths]
    cases = itertools.product((None, *evaluate.changes), evaluate.lengths, evaluate.offsets)
    test = [Place("test", length, offset, change) for change, length, offset in cases]
    return list(dict.fromkeys(validation + test))  # a length given twice is measured once


def is_done(run: Run, found: dict[str, dict[str, Any]]) -> bool:
    """Whether a run's record has all that its evaluation asks for; a failed one is tried again.

    Raises:
      UserError: it was measured on other examples, or another number of them; nothing is
        overwritten.
    """
    record = found.get(run.run_id)
    if record is None or record["status"] == "failed":
        return False
    if record["status"] == "diverged":
        return True
    _check_same_task(run, record)
    measured, wanted = records.places(record), [place.key for place in grid(run)]
    for place in wanted:
        if measured.get(place, 0) not in (0, run.evaluate.num_examples):
            asks = f"this study asks for {run.evaluate.num_examples} examples"
            raise UserError(
                f"The run {run.run_id} has measured length {place[1]} on {measured[place]} "
                f"examples and {asks}: nothing is overwritten."
            )
    return all(place in measured for place in wanted)


def _check_same_task(run: Run, record: dict[str, Any]) -> None:
    """Refuse a record whose rows rest on operands of other lengths."""
    measured = record["config"]["evaluate"]["exact_operands"]
    if record["config"]["evaluated_task"] != plain(run.evaluated_task):
        raise UserError(
            f"The run {run.run_id} was measured with config.evaluate.exact_operands={measured!r} "
            f"and this study asks for {run.evaluate.exact_operands!r}: choose another results "
            f"folder."
        )


def asked(runs: Iterable[Run]) -> Mapping[Plugin, held_out.Counts]:
    """Task -> how many examples of each split and length the evaluations and curves of runs look
    at.
    """
    found: dict[Plugin, dict[tuple[str, int], int]] = {}
    for run in runs:
        counts, evaluate = found.setdefault(run.evaluated_task, {}), run.evaluate
        places = [((place.split, place.length), evaluate.num_examples) for place in grid(run)]
        for place, count in [
            *places,
            *((("validation", n), evaluate.curve_examples) for n in evaluate.curve_lengths),
        ]:
            counts[place] = max(count, counts.get(place, 0))
    return found


def frozen_of(run: Run) -> held_out.Frozen | None:
    """The frozen examples that a run's evaluation reads; None where it draws them.

    Raises:
      UserError: they are not there, not all of them, or damaged.
    """
    if run.evaluate.frozen is None:
        return None
    if run.train.drawing == 1:
        raise UserError("Frozen examples are those of config.train.drawing=2, got drawing=1.")
    found = held_out.Frozen(Path(run.evaluate.frozen), run.evaluated_task)
    for (split, length), count in asked([run])[run.evaluated_task].items():
        found.rows(split, length, count)
    return found


class Evaluator:
    """Measures a cell's parameters at places; one program for all lengths, one more for each
    change.

    Args:
      lengths: all that will be asked for.
      compiled: turns a function and example arguments into a compiled one.

    Raises:
      UserError: the frozen examples that the run's evaluation reads do not fit.
    """

    def __init__(self, made: Setup, lengths: Iterable[int], compiled: Callable):
        self.made, self.compiled = made, compiled
        self.bound = max(lengths)
        self.changed: dict[Change | None, Setup] = {None: made}
        self.programs: dict[Any, Callable] = {}
        self.data = functools.cache(made.data)  # of a split
        self.frozen = frozen_of(made.run)

    def setup(self, change: Change | None) -> Setup:
        """The cell's setup with a change."""
        if change not in self.changed:
            self.changed[change] = changed(self.made, change)  # type: ignore[arg-type]
        return self.changed[change]

    def measure(self, params: Any, place: Place, num_examples: int) -> list[dict[str, Any]]:
        """Summed counts over the examples, one dict a replica."""
        made, bound = self.setup(place.change), self.bound
        params = params if place.change is None else adopt(params, self.made, made)
        data = self.data(place.split) if self.frozen is None else None
        shapes = tuple(leaf.shape for leaf in jax.tree.leaves(data))  # a split's may be its own
        batch_size, program = made.run.evaluate.batch_size, (place.change, shapes)
        fixed = {
            "split": SPLITS.index(place.split),
            "length": place.length,
            "offset": place.offset,
            "num_examples": num_examples,
        }
        total: Any = None
        for first in range(0, num_examples, batch_size):
            where = {k: np.int32(v) for k, v in {**fixed, "first": first}.items()}
            at = (place.split, place.length)
            frozen = (
                None
                if self.frozen is None
                else self.frozen.batch(at, num_examples, first, batch_size, bound)
            )
            if program not in self.programs:
                self.programs[program] = self.compiled(
                    functools.partial(batch_sums, made, bound), params, where, data, frozen
                )
            sums = jax.tree.map(np.asarray, self.programs[program](params, where, data, frozen))
            ratio = sums.pop("code_ratio")
            total = sums if total is None else jax.tree.map(np.add, total, sums)
        return [
            {**{k: v[r] for k, v in total.items()}, "code_ratio": ratio[r]}
            for r in range(len(ratio))
        ]

    def rows(self, params: Any, places: Iterable[Place]) -> list[list[dict[str, Any]]]:
        """The rows of all places with the digests of the code that measures them, one list a
        replica.
        """
        replicas, count = len(jax.tree.leaves(params)[0]), self.made.run.evaluate.num_examples
        rows: list[list[dict[str, Any]]] = [[] for _ in range(replicas)]
        for place in places:
            made = self.setup(place.change)
            if reason := out_of_reach(made, place.length, place.offset):
                measured = [
                    [
                        place.row(
                            "exact_match",
                            None,
                            0,
                            reason,
                            target_length_known=made.knows_target_length,
                        )
                    ]
                ] * replicas
            else:
                measured = [
                    _rows(made, sums, place, count) for sums in self.measure(params, place, count)
                ]
            sources = made.run.sources()
            for of_replica, new in zip(rows, measured, strict=True):
                of_replica.extend(row | {"sources": sources} for row in new)
        return rows


def _rows(made: Setup, sums: dict[str, Any], place: Place, count: int) -> list[dict[str, Any]]:
    lost = int(sums["not_finite"])
    reason = f"the logits of {lost} of {count} examples are not finite" if lost else None
    said = made.task.target_bound(place.length) + made.run.layout.end_token
    values: dict[str, Any] = {
        "exact_match": int(sums["exact_match"]) / count,
        "exact_match_without_end": int(sums["exact_match_without_end"]) / count,
        "token_accuracy": int(sums["tokens_right"]) / int(sums["tokens"]),
        "negative_log_likelihood": None if lost else float(sums["losses"]) / int(sums["targets"]),
        "first_error": [int(n) for n in sums["first_error"][:said]],
        "overlap": int(sums["overlap"]) / count,  # examples whose inputs training can draw
    }
    if made.task.has_scratchpad:
        values["answer_exact_match"] = int(sums["answer_exact_match"]) / count
    if made.task.by_place:
        means = sums["place_losses"][:said] / np.maximum(sums["place_targets"][:said], 1)
        values["negative_log_likelihood_by_place"] = None if lost else [float(nll) for nll in means]
    known = made.knows_target_length
    return [
        place.row(m, v, count, reason if v is None else None, target_length_known=known)
        for m, v in values.items()
    ]
