"""Lookups over all variants of a study, and over the course of its training.

Like the lookups of `Numbers`, they return text, and what has no number is an error.
"""

from collections.abc import Sequence

from docs.build.numbers import Numbers, listed
from pe_lab.results import cells, compare, selection, statistics
from pe_lab.runs.errors import UserError, unknown


def solved_extrapolate(study: Numbers, *names: str) -> str:
    """Seeds of these variants that extrapolate, of those that solve the training lengths."""
    extrapolation = study.chosen.spec.extrapolation
    num_solved, num_extrapolating = 0, 0
    for variant in map(study.variant, names):
        num_solved += variant.solved
        counts = compare.extrapolation_counts(variant, extrapolation)
        num_extrapolating += counts.extrapolating
    return f"{num_extrapolating} of {num_solved}"


def chosen_at_edge(study: Numbers) -> str:
    """Variants whose chosen setting is the smallest or largest value tried, of all variants."""
    variants = study.chosen.variants
    tuned = study.results.spec.tuned
    at_edge = [variant for variant in variants if selection.at_edge(variant, tuned)]
    return f"{len(at_edge)} of {len(variants)}"


def point_of_training(study: Numbers, step: int) -> str:
    """A step at which every variant has a point of its curve."""
    for variant in study.chosen.variants:
        steps = {point["step"] for run in variant.measured for point in run.record["curve"]}
        if step not in steps:
            raise unknown(
                f"{study.chosen.name}: {variant.name}, steps:", str(step), map(str, steps)
            )
    return f"{step:,}"


def means_during_training(study: Numbers, names: Sequence[str], length: int, step: int) -> str:
    """Mean exact match over seeds at a point of the curve, of several variants in this order."""
    texts = []
    for name in names:
        values = [
            point["exact_match"][str(length)]
            for run in study.variant(name).measured
            for point in run.record["curve"]
            if point["step"] == step
        ]
        mean = statistics.mean(values)
        if mean is None:
            raise UserError(f"{study.chosen.name}: {name} has no point at step {step}.")
        texts.append(cells.number(mean))
    return listed(texts)
