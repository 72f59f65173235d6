"""The compiled evaluation: all metrics of a length from one forward pass.

For a causal model without dropout, "every target token is the argmax under teacher forcing, the end
included" is "greedy decoding is exactly right", so nothing is generated.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from pe_lab import records
from pe_lab.training.step import EVALUATION, POSITIONS, Setup, State, examples, fold, out_of_reach, stream

SPLITS = ("validation", "test")  # a split's place is folded into its keys


def bounds(lengths: Iterable[int], first: int) -> dict[int, int]:
    """Length -> the length whose shapes it is padded to: `first`, times four as often as needed, at most the longest.

    Four times the shapes cost less than one more program to compile.
    """
    longest = max(lengths)
    return {n: min(first * 4 ** max(0, math.ceil(math.log(n / first, 4))), max(longest, first)) for n in lengths}


def batch_sums(made: Setup, bound: int, params: Any, where: dict[str, Array]) -> dict[str, Array]:
    """Counts and sums over one batch of examples of one length, for every replica.

    Args:
      bound: static; examples have the shapes of this length.
      where: traced integers: split, length, offset, first (index of the first example), num_examples.
    """
    index = where["first"] + jnp.arange(made.run.evaluate.batch_size)
    key = stream(stream(stream(jax.random.key(0), EVALUATION), where["split"]), where["length"])
    keys = fold(key, index)
    batch = examples(made, keys, jnp.broadcast_to(where["length"], index.shape), bound)
    positions = made.scheme(jax.vmap(lambda k: stream(k, POSITIONS))(keys), batch.mask, train=False)
    one_row = positions.shape[1] == 1 < len(index)  # for the whole batch: it stays one
    valid = batch.mask.any(axis=0, keepdims=True) if one_row else batch.mask
    shifted = jnp.where(valid[None], positions + where["offset"], 0)
    counted = (index < where["num_examples"])[:, None]

    def one(params):
        model = made.model(params)
        logits = model(batch.tokens, shifted, batch.mask, arange=made.scheme.arange, fused=made.fused)
        finite = jnp.isfinite(logits).all(axis=-1)  # an argmax over NaN would be token 0
        right = finite & (logits.argmax(axis=-1) == batch.labels)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch.labels)
        place = jnp.cumsum(batch.target, axis=1) - 1
        wrong_at = jnp.where(batch.target & ~right, place, place.shape[1]).min(axis=1, keepdims=True)
        return {
            "exact_match": ((right | ~batch.target).all(axis=1, keepdims=True) & counted).sum(),
            "exact_match_without_end": ((right | ~batch.answer).all(axis=1, keepdims=True) & counted).sum(),
            "tokens_right": (right & batch.answer & counted).sum(),
            "tokens": (batch.answer & counted).sum(),
            "losses": jnp.where(batch.target & counted, losses, 0).sum(),
            "targets": (batch.target & counted).sum(),
            "first_error": ((wrong_at == jnp.arange(place.shape[1])[None]) & counted).sum(axis=0),
            "not_finite": (~(finite | ~batch.target).all(axis=1, keepdims=True) & counted).sum(),
            "code_ratio": _code_ratio(model, shifted[0]),
        }

    return made.side_by_side(one, params)


def _code_ratio(model: Any, positions: Array) -> Array:
    """rms(code) / rms(scaled token embedding) of each input encoding: who speaks louder."""

    def rms(x):
        return jnp.sqrt(jnp.square(x).mean())

    tokens = rms(model.embedding.embedding[...] * model.embedding_scale)
    ratios = [rms(e.scaled_code(positions)) / tokens for e in model.input_encodings]
    return jnp.stack(ratios) if ratios else jnp.zeros(0)


class Evaluator:
    """Measures a state at lengths and offsets; one program for each padded length.

    Args:
      compiled: turns a function and example arguments into a compiled one.
    """

    def __init__(self, made: Setup, compiled: Callable):
        evaluate, self.made, self.compiled = made.run.evaluate, made, compiled
        self.bounds = bounds({*evaluate.lengths, *evaluate.curve_lengths}, made.run.train.max_length)
        self.programs: dict[int, Callable] = {}

    def measure(self, state: State, split: str, length: int, offset: int, num_examples: int) -> list[dict[str, Any]]:
        """Summed counts over the examples, one dict a replica."""
        batch_size, bound = self.made.run.evaluate.batch_size, self.bounds[length]
        fixed = {"split": SPLITS.index(split), "length": length, "offset": offset, "num_examples": num_examples}
        total: Any = None
        for first in range(0, num_examples, batch_size):
            where = {k: jnp.asarray(v) for k, v in {**fixed, "first": first}.items()}
            if bound not in self.programs:
                program = _program(self.made, bound)
                self.programs[bound] = self.compiled(program, state["params"], where)
            sums = jax.tree.map(np.asarray, self.programs[bound](state["params"], where))
            ratio = sums.pop("code_ratio")
            total = sums if total is None else jax.tree.map(np.add, total, sums)
        return [{**{k: v[r] for k, v in total.items()}, "code_ratio": ratio[r]} for r in range(len(ratio))]

    def rows(self, state: State) -> list[list[dict[str, Any]]]:
        """All rows of the final evaluation, one list a replica.

        The test grid is lengths x offsets; validation is the lengths up to the training length at offset 0.
        """
        evaluate, longest = self.made.run.evaluate, self.made.run.train.max_length
        grid = [("validation", n, 0) for n in evaluate.lengths if n <= longest]
        grid += [("test", n, offset) for n in evaluate.lengths for offset in evaluate.offsets]
        replicas = len(state["step"])
        rows: list[list[dict[str, Any]]] = [[] for _ in range(replicas)]
        for split, length, offset in grid:
            place = (split, length, offset)
            if reason := out_of_reach(self.made, length, offset):
                measured = [[records.row(*place, "exact_match", None, 0, reason)]] * replicas
            else:
                sums = self.measure(state, split, length, offset, evaluate.num_examples)
                measured = [self._rows(s, place, evaluate.num_examples) for s in sums]
            for of_replica, new in zip(rows, measured, strict=True):
                of_replica.extend(new)
        return rows

    def _rows(self, sums: dict[str, Any], place: tuple[str, int, int], count: int) -> list[dict[str, Any]]:
        lost = int(sums["not_finite"])
        reason = f"the logits of {lost} of {count} examples are not finite" if lost else None
        said = self.made.task.target_bound(place[1]) + self.made.run.layout.end_token
        values: dict[str, Any] = {
            "exact_match": int(sums["exact_match"]) / count,
            "exact_match_without_end": int(sums["exact_match_without_end"]) / count,
            "token_accuracy": int(sums["tokens_right"]) / int(sums["tokens"]),
            "negative_log_likelihood": None if lost else float(sums["losses"]) / int(sums["targets"]),
            "first_error": [int(n) for n in sums["first_error"][:said]],
        }
        return [records.row(*place, m, v, count, reason if v is None else None) for m, v in values.items()]


def _program(made: Setup, bound: int) -> Callable:
    def evaluate(params, where):
        return batch_sums(made, bound, params, where)

    return evaluate
