"""How many logits of saturation's test are untrained, and whether that goes with the result.

configs/saturation.py declares both numbers and their correlation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import stats

from pe_lab.inspection import exposure, rotation_angles
from pe_lab.inspection.untrained import UntrainedEncoding
from pe_lab.results import setting_rules
from pe_lab.results.run_scores import AREA


def untrained_share(
    spec: Mapping[str, Any], *, width: int, num_heads: int, trained: int, tested: int
) -> float:
    """Return the share of a decoder's logits that read a parameter or an angle not trained.

    An angle is untrained if the distance is longer than those of training and its pair completes no
    period within those. A logit that reads one such angle counts.

    Args:
      trained, tested: tokens of the longest example; tested is at most twice trained.
    """
    encoding = UntrainedEncoding(spec, length=trained, width=width, num_heads=num_heads)
    angles = rotation_angles.frequencies(encoding)
    if angles is None:
        is_untrained = exposure.untrained_rows(encoding)
    else:
        is_complete = rotation_angles.completes_period(angles.ravel(), trained)
        is_untrained = np.full(trained, not is_complete.all())
    # Distance d occurs between tested - d pairs of tokens.
    pairs = tested - np.arange(tested)
    return float(pairs[trained:] @ is_untrained[: tested - trained] / pairs.sum())


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation with its interval over seeds."""

    value: float
    low: float
    high: float


def correlation(runs: pd.DataFrame, shares: Mapping[str, float], setting: str) -> Correlation:
    """Return the correlation of shares with the mean area of each variant over its solved runs.

    A variant that no drawn seed solves is left out of a draw.

    Args:
      runs: of setting_tables.full_grid.
      shares: by the name of the variant.
      setting: the axis of the learning rate.
    """
    grid = setting_rules.Runs.of(runs, rows=["name"], setting=setting, columns=["solved", AREA])
    of_variants = np.array([shares[name] for (name,) in grid.variants])
    solved = np.nan_to_num(grid.numbers["solved"])
    areas = np.nan_to_num(grid.numbers[AREA])

    def correlations(weights: Float[np.ndarray, "s d"]) -> Float[np.ndarray, "1 d"]:
        counts = (solved @ weights).sum(axis=1)  # [variant, draw]
        sums = ((solved * areas) @ weights).sum(axis=1)
        with np.errstate(invalid="ignore"):
            means = sums / counts
        by_draw = [
            stats.spearmanr(of_variants, column, nan_policy="omit").statistic for column in means.T
        ]
        return np.array([by_draw])

    low, high = setting_rules.bootstrap(correlations, len(grid.seeds))
    value = correlations(np.ones((len(grid.seeds), 1)))[0, 0]
    return Correlation(float(value), float(low[0]), float(high[0]))
