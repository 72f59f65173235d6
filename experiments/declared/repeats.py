"""Is a string with long repeats copied less often?"""

from collections.abc import Iterator

import pandas as pd

from experiments.declared import common
from pe_lab.results import formats, frame, statistics

LEAST_SHARE_OF_EXAMPLES = 0.1


def repeat_effect(attributes: pd.DataFrame) -> "pd.Series[float] | None":
    """Return for each seed the exact match above the median longest repeat, minus the rest.

    Args:
      attributes: rows of `Study.attributes` of one task, variant and length, of solved runs.

    Returns:
      None if a side has less than a tenth of the examples.
    """
    by_value = attributes.groupby("attribute_value")["count"].sum().sort_index()
    cumulative = by_value.cumsum() / by_value.sum()
    median = cumulative.index[cumulative.to_numpy() >= 0.5][0]
    is_above = attributes["attribute_value"] > median
    part_above = attributes.loc[is_above, "count"].sum() / attributes["count"].sum()
    if not LEAST_SHARE_OF_EXAMPLES <= part_above <= 1 - LEAST_SHARE_OF_EXAMPLES:
        return None
    sides = [attributes[is_above], attributes[~is_above]]
    sums = [side.groupby("seed")[["successes", "count"]].sum() for side in sides]
    above, others = (side["successes"] / side["count"] for side in sums)
    return above - others


def effects(folder: str) -> Iterator[tuple[str, str, "pd.Series[float] | None"]]:
    """Yield the alphabet, the model and `repeat_effect` of each row of a study's folder."""
    attributes = frame.read(folder).attributes
    axes = ["task", "model.encodings", "model.convolution_sites"]
    common.check_columns(folder, attributes.columns, [*axes, "chosen"])
    is_asked = (
        (attributes["attribute"] == "longest_repeat")
        & (attributes["split"] == "test")
        & (attributes["length"] == 2 * attributes["max_length"])
        & attributes["solved"].astype(bool)
        & attributes["chosen"].astype(bool)
    )
    for (task, encoding, sites), rows in attributes[is_asked].groupby(axes, sort=False):
        yield task, " · ".join(filter(None, (encoding, sites))), repeat_effect(rows)


def effect_text(effect: "pd.Series[float] | None") -> str:
    """Return the mean over seeds with its interval."""
    if effect is None:
        return "not used: a side has too few examples"
    interval = statistics.t_interval(effect.to_list(), (-1, 1))
    return formats.difference(float(effect.mean()), interval)


def alphabet_lines(folder: str) -> list[str]:
    """Return one line for each row of a study's folder."""
    return [f"{task:12} {name:22} {effect_text(effect)}" for task, name, effect in effects(folder)]
