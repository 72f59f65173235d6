"""Choice along tuned axes (a learning rate) by validation up to the training length.

For each point of the other axes, the setting with the lowest mean validation loss over seeds is
chosen. Test scores are not used. Settings are compared on the seeds that all of them have.

Settings that the same number of seeds solve are tied: exact match does not separate them, the loss
decides, and tables show how much that matters.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from pe_lab.results import variant_names
from pe_lab.results.study import EVALUATED_WITH, Study
from pe_lab.runs.settings.declarations import check_keys
from pe_lab.runs.studies.analysis_spec import SEPARATOR

Seed = tuple[int, int]  # of the weights and of the data
Row = dict[str, Any]  # a case


def mean_loss(cases: Sequence[Row]) -> float:
    """Return the mean validation loss over seeds; infinite if one diverged or all failed."""
    # A diverged run has an infinite loss, so that its setting is not chosen.
    losses = [case["validation_loss"] for case in cases if case["status"] != "failed"]
    return sum(losses) / len(losses) if losses else math.inf


def choose(study: Study, axes: Sequence[str] | None = None) -> Study:
    """Return the study with one variant in place of all that differ in tuned axes only.

    Args:
      axes: None: the tuned axes of the analysis spec.
    """
    tuned = study.spec.tuned if axes is None else axes
    if not tuned or study.settings is not None:  # no tuned axes, or the choice is made already
        return study
    check_keys("The study", tuned, study.axes)
    others = [axis for axis in study.axes if axis not in tuned]
    # A group has the settings of one variant with one evaluation override.
    grid_axes = [axis for grid in study.grids for axis in grid]
    key_axes = [*others, EVALUATED_WITH, *dict.fromkeys(grid_axes)]
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, row in study.by_name.items():
        groups.setdefault(tuple(row[axis] for axis in key_axes), []).append(name)
    cases_of: dict[str, list[Row]] = {name: [] for name in study.by_name}
    columns = ["variant", "seed", "data_seed", "status", "validation_loss", "solved"]
    for number, case in enumerate(study.cases[columns].to_dict("records")):
        cases_of[case["variant"]].append({**case, "number": number})  # row of study.cases
    best_of: dict[tuple[str, ...], list[str]] = {}
    names, settings, candidates = [], [], []
    for key, group in groups.items():
        compared = with_shared_seeds([cases_of[name] for name in group])
        as_trained = key[: len(others)]
        # Variants as trained come before their overrides, so `best_of` has their choice by then.
        if not study.by_name[group[0]]["override"]:
            # If all losses are infinite, a setting with a diverged run is preferred to one whose
            # runs all failed.
            ranks = [(mean_loss(cases), not _trained(cases)) for cases in compared]
            best = group[ranks.index(min(ranks))]  # of equal ranks, the first of the sweep
            best_of[as_trained] = [study.by_name[best][axis] for axis in tuned]
        else:
            # An override never chooses again: it has the setting of the variant as trained. It has
            # no row if it was not evaluated at this setting.
            chosen = best_of[as_trained]
            same = [name for name in group if [study.by_name[name][a] for a in tuned] == chosen]
            if not same:
                continue
            (best,) = same  # its labels and its override identify a variant
        names.append(best)
        # Resamples choose anew (choice_intervals.py), so all settings keep their cases.
        of_variant = []
        for name, cases in zip(group, compared, strict=True):
            of_variant.append(_setting(study, name, best, cases, tuned))
            candidates += [(best, name, case["number"]) for case in cases]
        is_at_edge = at_edge(of_variant, tuned)
        settings += [{**row, "is_at_edge": is_at_edge} for row in of_variant]
    return _chosen(study, others, names, settings, candidates)


def _setting(study: Study, name: str, best: str, cases: Sequence[Row], tuned: Sequence[str]) -> Row:
    labels = [study.by_name[name][axis] for axis in tuned]
    numbers = [_as_number(text) for text in labels]
    return {
        "variant": best,
        "candidate": name,
        # Without a case, nothing was chosen, although `best` names the first setting.
        "is_chosen": name == best and bool(cases),
        "setting": SEPARATOR.join(filter(None, labels)),
        **dict(zip(tuned, labels, strict=True)),
        # Labels that are not numbers tie here, so the stable sort keeps the order of the sweep.
        "order": tuple(math.inf if number is None else number for number in numbers),
        # These three count shared seeds only: the chosen setting may have more.
        "loss": mean_loss(cases),
        "solved": sum(case["solved"] for case in cases),
        "runs": len(cases),
    }


def _chosen(
    study: Study,
    others: Sequence[str],
    names: Sequence[str],
    settings: Sequence[Row],
    candidates: Sequence[tuple[str, str, int]],
) -> Study:
    """Return the study of the variants that were chosen, without tuned axes in their names."""
    labels = [{axis: study.by_name[name][axis] for axis in others} for name in names]
    new_names = variant_names.names(study.name, labels)
    renamed = {}
    for name, new_name in zip(names, new_names, strict=True):
        override = study.by_name[name]["override"]
        renamed[name] = f"{new_name}, {EVALUATED_WITH} {override}" if override else new_name
    tuned = [axis for axis in study.axes if axis not in others]
    variants = study.variants.loc[list(names)].drop(columns=tuned).rename(index=renamed)
    # All seeds of a chosen setting count as results, not only those that it was compared on.
    cases = study.cases[study.cases["variant"].isin(names)]
    order = pd.DataFrame(settings)
    order["variant"] = order["variant"].map(renamed)
    # Settings are sorted within each variant; variants keep the order of the study.
    ranks = {name: rank for rank, name in enumerate(variants.index)}
    order["place"] = order["variant"].map(ranks)
    order = order.sort_values(["place", "order"], kind="stable").drop(columns="place")
    solved = order[order["is_chosen"]].set_index("variant")["solved"]
    # A variant without cases has no chosen setting, so the map has no number for it.
    order["is_tied"] = order["solved"] == order["variant"].map(solved).fillna(0)
    # By row number and not by run, because a run that two settings share is a case of each.
    of_candidates = study.cases.iloc[[number for _, _, number in candidates]]
    of_candidates = of_candidates.assign(
        variant=[renamed[best] for best, _, _ in candidates],
        candidate=[name for _, name, _ in candidates],
    )
    return dataclasses.replace(
        study,
        axes=tuple(others),
        variants=variants,
        cases=cases.assign(variant=cases["variant"].map(renamed)).drop(columns=tuned),
        settings=order,
        candidates=of_candidates,
        chosen_from=tuple(names),
    )


def with_shared_seeds(group: Sequence[Sequence[Row]]) -> list[list[Row]]:
    """Return the cases of the seeds that all settings have; unchanged if there are none.

    A failed run says nothing about its setting, so its seed is not shared. A setting whose runs all
    failed would leave no shared seed, so it is left out when the seeds are compared.
    """
    seeds = [{_seed(case) for case in _trained(cases)} for cases in group]
    shared = set.intersection(*filter(None, seeds)) if any(seeds) else set()
    if not shared:
        return [list(cases) for cases in group]
    return [[case for case in cases if _seed(case) in shared] for cases in group]


def _seed(case: Row) -> Seed:
    return case["seed"], case["data_seed"]


def _trained(cases: Sequence[Row]) -> list[Row]:
    """Return the cases whose runs did not fail."""
    return [case for case in cases if case["status"] != "failed"]


def settings_of(study: Study, name: str) -> pd.DataFrame:
    """Return the settings of a variant in their order; none if nothing was tuned."""
    if study.settings is None:
        return pd.DataFrame(columns=["variant", "setting", "is_chosen", "is_tied", "runs"])
    return study.settings[study.settings["variant"] == name]


def setting(study: Study, name: str) -> str:
    """Return the labels of a chosen variant on the tuned axes; "" if it has no run."""
    settings = settings_of(study, name)
    return str(next(iter(settings.loc[settings["is_chosen"], "setting"]), ""))


def at_edge(settings: Sequence[Row], axes: Sequence[str]) -> bool:
    """Return whether the chosen value of a numeric axis is the smallest or largest one tried.

    Args:
      settings: of one variant, as rows of `Study.settings`.
    """
    for axis in axes:
        numbers = [_as_number(setting[axis]) for setting in settings]
        known = {number for number in numbers if number is not None}
        if len(known) < 2:
            continue  # an axis of names, or of one value, has no edge
        ends = (min(known), max(known))
        if any(s["is_chosen"] and n in ends for s, n in zip(settings, numbers, strict=True)):
            return True
    return False


def _as_number(text: str | None) -> float | None:
    try:
        return float(text or "")  # float(None) would raise a TypeError
    except ValueError:
        return None
