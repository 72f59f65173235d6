"""Choosing along axes of tuning (a learning rate) by what validation says up to the training
length, and never by the test.

The variant of the least mean validation loss over seeds is chosen, for each point of the other
axes. Settings that as many seeds solve are tied: exact match does not tell them apart, the loss
decides, and tables show how much that matters.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pe_lab.results import metrics, statistics
from pe_lab.results.results import EVALUATED_WITH, Results, Variant
from pe_lab.results.statistics import Interval
from pe_lab.runs.analysis_spec import SEPARATOR


def chosen(results: Results) -> Results:
    """The results with one variant for all that differ in tuned axes alone; the same results where
    nothing is tuned.
    """
    tuned = results.spec.tuned
    if not tuned:
        return results
    shown = _shown(results, tuned)
    groups: dict[tuple[tuple[str, str], ...], list[Variant]] = {}
    for variant in results.variants:
        groups.setdefault(
            tuple((a, t) for a, t in variant.labels.items() if a not in tuned), []
        ).append(variant)
    variants = [
        _best(_name(dict(labels), shown) or results.name, dict(labels), group)
        for labels, group in groups.items()
    ]
    return dataclasses.replace(results, variants=tuple(variants))


def loss(variant: Variant) -> float:
    """Mean validation loss over seeds; infinite if one of them has none."""
    found = [metrics.validation_loss(r) for r in variant.runs if r["status"] != "failed"]
    return sum(found) / len(found) if found else math.inf


def tied(variant: Variant) -> tuple[Variant, ...]:
    """The candidates that as many seeds solved as the chosen one, itself among them."""
    return tuple(c for c in variant.candidates if c.solved == variant.solved)


def setting(variant: Variant, tuned: Sequence[str]) -> str:
    """What was chosen: its labels on the tuned axes."""
    mine = next((c for c in variant.candidates if c.runs == variant.runs), variant)
    return SEPARATOR.join(mine.labels[a] for a in tuned if mine.labels.get(a))


def at_edge(variant: Variant, tuned: Sequence[str]) -> bool:
    """Whether the chosen value of a numeric axis is the smallest or largest of those tried."""
    chosen = next((c for c in variant.candidates if c.runs == variant.runs), variant)
    for axis in tuned:
        tried = {_as_number(c.labels.get(axis)) for c in variant.candidates}
        numbers = {number for number in tried if number is not None}
        value = _as_number(chosen.labels.get(axis))
        if len(numbers) > 1 and value in (min(numbers), max(numbers)):
            return True
    return False


def _as_number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def interval(variant: Variant, value: Callable[[metrics.Measured], Any]) -> Interval | None:
    """Of the interquartile mean of a number over seeds, choosing anew in each resample of them.

    None of fewer than ten seeds that every candidate has finished.
    """
    seeds = [
        {run.seed: run for run in c.measured if value(run) is not None} for c in variant.candidates
    ]
    shared = [seed for seed in seeds[0] if all(seed in each for each in seeds)] if seeds else []
    if len(shared) < statistics.BOOTSTRAP_FROM:
        return None
    losses = [[metrics.validation_loss(each[seed].record) for each in seeds] for seed in shared]
    values = [[value(each[seed]) for each in seeds] for seed in shared]
    rows = np.concatenate([losses, values], axis=1)  # [n, 2 K]

    def of_the_best(drawn: Any) -> Any:
        best = drawn[..., : len(seeds)].mean(axis=-2).argmin(axis=-1)
        outcomes = np.moveaxis(drawn[..., len(seeds) :], -1, 0)
        return statistics.interquartile_mean(
            np.take_along_axis(outcomes, best[None, ..., None], axis=0)[0]
        )

    return statistics.bootstrap([rows], of_the_best)


def _best(name: str, labels: dict[str, str], group: list[Variant]) -> Variant:
    best = min(group, key=loss)
    return dataclasses.replace(best, name=name, labels=labels, candidates=tuple(group))


def _shown(results: Results, tuned: Sequence[str]) -> list[str]:
    """The axes that vary among what is left."""
    labels = [v.labels for v in results.variants]
    axes = dict.fromkeys(
        axis for each in labels for axis in each if axis not in (*tuned, EVALUATED_WITH)
    )
    varying = [a for a in axes if len({each.get(a) for each in labels}) > 1]
    return varying or [a for a in axes if a == "model.encodings"]


def _name(labels: dict[str, str], shown: Sequence[str]) -> str:
    name, override = (
        SEPARATOR.join(labels[a] for a in shown if labels.get(a)),
        labels.get(EVALUATED_WITH),
    )
    return f"{name}, {EVALUATED_WITH} {override}" if override else name
