"""How many logits of saturation's test are untrained, and whether that goes with the result.

configs/saturation.py declares both numbers and their correlation.
"""

import functools
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import stats

from docs.build import markdown
from docs.build.published import STUDIES
from pe_lab.contrib.grids import run_scores, setting_rules
from pe_lab.contrib.grids.run_scores import AREA
from pe_lab.contrib.inspection import exposure, rotation_angles
from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from pe_lab.results import formats, frame, statistics
from pe_lab.results.formats import Cell

config = importlib.import_module("configs.saturation")
FOLDER = STUDIES / "saturation"
RATE = "train.learning_rate"
TRAINED, TESTED = 34, 66  # tokens of a string of 16 symbols, and of one of 32, with its copy


def lookups(root: Path) -> dict[str, Any]:
    runs = _runs(root)
    shares, areas = untrained_shares(), _areas(runs)
    ordered = areas.sort_values(ascending=False, kind="stable")
    rows = [
        [f"`{name}`", formats.number(shares[name]), formats.number(area)]
        for name, area in ordered.items()
    ]
    found = correlation(runs, shares)
    within = {
        family: correlation(runs[runs["name"].isin(part)], part)
        for family, part in _by_family(shares).items()
    }
    return {
        "shares_table": markdown.table([["encoding", "untrained share", "area"], *rows]),
        "share": lambda name: formats.number(shares[name]),
        "area": lambda name: formats.number(areas[name]),
        "correlation": found.text.partition(" [")[0],
        "correlation_p": formats.p_value(p_over_encodings(shares, areas)),
        "correlation_within": lambda family: within[family].text,
    }


def p_over_encodings(shares: Mapping[str, float], areas: pd.Series) -> float:
    """Return the p of the rank correlation, with encodings as units."""
    return float(stats.spearmanr([shares[name] for name in areas.index], areas).pvalue)


@functools.cache
def _runs(root: Path) -> pd.DataFrame:
    """One row for each run, with the label of its encoding as "name"."""
    runs = run_scores.of(frame.read(root / FOLDER).numbers)
    return runs.assign(name=runs["model.encodings"].astype(str))


def _areas(runs: pd.DataFrame) -> pd.Series:
    """Return the mean area over the rates and seeds that solve the task, by encoding."""
    return runs[runs["solved"] == 1].groupby("name", sort=False)[AREA].mean()


@functools.cache
def untrained_shares() -> dict[str, float]:
    """The share of untrained logits at twice the training length, by encoding."""
    model = config.get_config().model
    specs = {
        point["model.encodings"].label: point["model.encodings"].value[0]
        for point in config.sweep()
    }
    return {
        name: untrained_share(
            spec, width=model.width, num_heads=model.num_heads, trained=TRAINED, tested=TESTED
        )
        for name, spec in specs.items()
    }


def _by_family(shares: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Return the encodings of each family of which some have untrained logits."""
    families = ("shaw", "t5_bias", "rope")
    return {
        family: {name: share for name, share in shares.items() if name.startswith(family)}
        for family in families
    }


def untrained_share(
    spec: Mapping[str, Any], *, width: int, num_heads: int, trained: int, tested: int
) -> float:
    """Return the share of a decoder's logits that read a parameter or an angle not trained.

    An angle is untrained if the distance is longer than those of training and its pair completes no
    period within those. A logit that reads one such angle counts.

    Args:
      trained, tested: tokens of the longest example; tested is at most twice trained.
    """
    # Layers that share a table read the same rows of it.
    of_layer = {key: value for key, value in spec.items() if key != "share"}
    encoding = UntrainedEncoding(of_layer, length=trained, width=width, num_heads=num_heads)
    angles = rotation_angles.frequencies(encoding)
    if angles is None:
        is_untrained = exposure.untrained_rows(encoding)
    else:
        is_complete = rotation_angles.completes_period(angles.ravel(), trained)
        is_untrained = np.full(trained, not is_complete.all())
    # Distance d occurs between tested - d pairs of tokens.
    pairs = tested - np.arange(tested)
    return float(pairs[trained:] @ is_untrained[: tested - trained] / pairs.sum())


def correlation(runs: pd.DataFrame, shares: Mapping[str, float]) -> Cell:
    """Return Spearman's correlation of shares with the mean area of each variant's solved runs.

    A variant that no drawn seed solves is left out of a draw.

    Args:
      runs: of setting_tables.full_grid.
      shares: by the name of the variant.
    """
    grid = setting_rules.Runs.of(runs, rows=["name"], setting=RATE, columns=["solved", AREA])
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
    value = float(correlations(np.ones((len(grid.seeds), 1)))[0, 0])
    interval = statistics.Interval(float(low[0]), float(high[0]), "percentile")
    return Cell(formats.difference(value, interval), value, interval)
