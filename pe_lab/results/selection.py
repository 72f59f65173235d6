"""Choice along tuned axes (a learning rate) by validation up to the training length.

The setting with the least mean validation loss over seeds is chosen, for each point of the other
axes, and never by the test. Settings are compared on the seeds that all of them have: after a
tuning in two stages, the chosen one has more.

Settings that as many seeds solve are tied: exact match does not separate them, the loss decides,
and tables show how much that matters.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from pe_lab.results import measured, statistics, variant_names
from pe_lab.results.results import EVALUATED_WITH, Results, Variant
from pe_lab.results.statistics import Interval
from pe_lab.runs import validation
from pe_lab.runs.analysis_spec import SEPARATOR, MetricSpec
from pe_lab.runs.record_schema import JsonObject


def chosen(results: Results) -> Results:
    """Return the results with one variant for all that differ in tuned axes only."""
    tuned = results.spec.tuned
    if not tuned:
        return results
    groups: dict[tuple[tuple[str, str], ...], list[Variant]] = {}
    for variant in results.variants:
        labels = variant.labels.items()
        untuned = tuple((axis, text) for axis, text in labels if axis not in tuned)
        groups.setdefault(untuned, []).append(variant)
    variants = []
    settings: dict[tuple[tuple[str, str], ...], list[str | None]] = {}
    for untuned, group in groups.items():
        candidates = with_shared_seeds(group)
        override_axes = (EVALUATED_WITH, *group[0].override_axes)
        as_trained = tuple(pair for pair in untuned if pair[0] not in override_axes)
        if group[0].override is None:
            # The variant has all of its seeds, and not only those that were compared.
            best = group[best_candidate(candidates)]
            settings[as_trained] = _on_tuned_axes(best, tuned)
        else:
            # An override has the setting of the variant as trained, or no row.
            setting_as_trained = settings[as_trained]
            same = [v for v in group if _on_tuned_axes(v, tuned) == setting_as_trained]
            if not same:
                continue
            (best,) = same
        variants.append(
            dataclasses.replace(best, labels=dict(untuned), candidates=in_order(candidates, tuned))
        )
    renamed = _renamed(results, variants)
    return dataclasses.replace(results, variants=tuple(renamed))


def _on_tuned_axes(variant: Variant, tuned: Sequence[str]) -> list[str | None]:
    return [variant.labels.get(axis) for axis in tuned]


def best_candidate(candidates: Sequence[Variant]) -> int:
    """Return the index of the candidate with the least loss; one whose runs all failed is last."""
    ranks = [(loss(candidate), not _trained(candidate)) for candidate in candidates]
    return ranks.index(min(ranks))


def _renamed(results: Results, variants: Sequence[Variant]) -> list[Variant]:
    """Return the variants with names that leave out the tuned axes."""
    # An override is no axis of the sweep. It is added behind the name.
    of_overrides = {EVALUATED_WITH, *itertools.chain(*results.override_axes)}
    trained = []
    for variant in variants:
        labels = variant.labels.items()
        trained.append({axis: text for axis, text in labels if axis not in of_overrides})
    renamed = []
    names = variant_names.names(results.name, trained)
    for name, variant in zip(names, variants, strict=True):
        if EVALUATED_WITH in variant.labels:
            name = f"{name}, {EVALUATED_WITH} {variant.labels[EVALUATED_WITH]}"
        renamed.append(dataclasses.replace(variant, name=name))
    return renamed


def with_shared_seeds(group: Sequence[Variant]) -> list[Variant]:
    """Return the variants with the runs of the seeds that all of them have; unchanged if none.

    A run that failed says nothing about its setting, so its seed is not shared. A variant of which
    every run failed shares no seed and is not counted.
    """
    shared = shared_seeds(group)
    if not shared:
        return list(group)
    candidates = []
    for variant in group:
        runs = [run.record for run in variant.measured if run.seed in shared]
        candidates.append(dataclasses.replace(variant, runs=tuple(runs)))
    return candidates


def shared_seeds(group: Sequence[Variant]) -> set[tuple[int, int]]:
    """Return the seeds that all variants have, without failed runs and variants that failed."""
    seeds = []
    for variant in group:
        trained = [run.seed for run in variant.measured if run.record["status"] != "failed"]
        if trained:
            seeds.append(set(trained))
    return set.intersection(*seeds) if seeds else set()


def loss(variant: Variant) -> float:
    """Return the mean validation loss over seeds; infinite if one of them has none."""
    # A run that diverged has an infinite loss, so that its setting is not chosen.
    losses = [validation.mean_loss(record) for record in _trained(variant)]
    if not losses:
        return math.inf
    return sum(losses) / len(losses)


def _trained(variant: Variant) -> list[JsonObject]:
    """Return the records of a variant without those of failed runs."""
    return [record for record in variant.runs if record["status"] != "failed"]


def tied(variant: Variant) -> tuple[Variant, ...]:
    """Return the candidates that as many seeds solved as the chosen one, with it."""
    # The variant itself may have more seeds than the candidates were compared on.
    num_solved = chosen_candidate(variant).solved
    return tuple(candidate for candidate in variant.candidates if candidate.solved == num_solved)


def setting(variant: Variant, tuned: Sequence[str]) -> str:
    """Return the labels of the chosen variant on the tuned axes."""
    labels = chosen_candidate(variant).labels
    return SEPARATOR.join(labels[axis] for axis in tuned if labels.get(axis))


def in_order(candidates: Iterable[Variant], tuned: Sequence[str]) -> tuple[Variant, ...]:
    """Return the candidates by the numbers of their settings; other labels keep their order."""

    def numbers(candidate: Variant) -> list[float]:
        of_axes = [_as_number(candidate.labels.get(axis)) for axis in tuned]
        return [math.inf if number is None else number for number in of_axes]

    return tuple(sorted(candidates, key=numbers))


def at_edge(variant: Variant, tuned: Sequence[str]) -> bool:
    """Return whether the chosen value of a numeric axis is the smallest or largest one tried."""
    for axis in tuned:
        labels = [candidate.labels.get(axis) for candidate in variant.candidates]
        numbers = {number for number in map(_as_number, labels) if number is not None}
        if len(numbers) < 2:
            continue  # an axis of names, or of one value, has no edge
        value = _as_number(chosen_candidate(variant).labels.get(axis))
        if value in (min(numbers), max(numbers)):
            return True
    return False


def chosen_candidate(variant: Variant) -> Variant:
    """Return the candidate that was chosen. Its labels have the tuned axes."""
    run_ids = {record["run_id"] for record in variant.runs}
    for candidate in variant.candidates:
        # A candidate has only the seeds that all candidates have.
        if candidate.runs and run_ids.issuperset(r["run_id"] for r in candidate.runs):
            return candidate
    return variant


def _as_number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def interval(variant: Variant, metric: MetricSpec) -> Interval | None:
    """Return an interval of the interquartile mean that includes the choice.

    Each resample of the seeds chooses anew. None below ten seeds that every candidate has finished.
    """
    by_seed = []
    for candidate in variant.candidates:
        of_seed = {}
        for run in candidate.measured:
            if measured.value(run, metric) is not None:
                of_seed[run.seed] = run
        by_seed.append(of_seed)
    if not by_seed:
        return None
    shared = [seed for seed in by_seed[0] if all(seed in runs for runs in by_seed)]
    if len(shared) < statistics.BOOTSTRAP_FROM:
        return None
    num_candidates = len(by_seed)
    # A seed is resampled as a whole: its losses, which choose, and its outcomes.
    rows = []
    for seed in shared:
        runs = [of_candidate[seed] for of_candidate in by_seed]
        losses = [validation.mean_loss(run.record) for run in runs]
        rows.append([*losses, *measured.values(runs, metric)])

    def of_the_best(sample: NDArray[np.float64]) -> NDArray[np.float64] | np.float64:
        losses, outcomes = sample[..., :num_candidates], sample[..., num_candidates:]
        best = losses.mean(axis=-2).argmin(axis=-1)
        of_best = np.take_along_axis(outcomes, best[..., None, None], axis=-1)
        return statistics.interquartile_mean(of_best[..., 0])

    return statistics.bootstrap([np.array(rows, float)], of_the_best)  # [n, 2 K]
