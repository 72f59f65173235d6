"""Whether exact match falls with the distance to what an answer needs, as story_recurrent declares.

A seed forgets if Spearman's rank correlation of the distance with exact match is below 0.
"""

from pathlib import Path
from typing import Any

import pandas as pd
from scipy import stats

from docs.build.published import STUDIES
from pe_lab.results import formats, frame, selection, statistics

_ATTRIBUTE = "longest_distance"


def correlations(examples: pd.DataFrame) -> list[float | None]:
    """Return the rank correlation of each seed; None if exact match is the same at all distances.

    Args:
      examples: one row for each seed and distance, in attribute_value, with exact match in value.
    """
    found: list[float | None] = []
    for _, of_seed in examples.groupby("seed"):
        if of_seed["value"].nunique() == 1:
            found.append(None)
        else:
            correlation = stats.spearmanr(of_seed["attribute_value"], of_seed["value"])
            found.append(float(correlation.statistic))
    return found


def lookups(root: Path) -> dict[str, Any]:
    study = selection.choose(frame.read(root / STUDIES / "story_recurrent"))
    of_chosen = study.cases[["run", "variant", "seed"]].astype({"seed": str})
    rows = study.measured_attributes.merge(of_chosen, on="run")
    rows = rows[(rows["split"] == "test") & (rows["attribute"] == _ATTRIBUTE)]

    def examples(name: str, length: int) -> pd.DataFrame:
        return rows[(rows["variant"] == name) & (rows["length"] == length)]

    def forget(name: str, length: int) -> str:
        found = correlations(examples(name, length))
        return f"{sum(value is not None and value < 0 for value in found)} of {len(found)}"

    def at_distance(name: str, length: int, distance: int) -> str:
        of_seeds = examples(name, length).query("attribute_value == @distance")["value"]
        return formats.number(statistics.median(of_seeds.tolist()))

    return {"forget": forget, "at_distance": at_distance}
