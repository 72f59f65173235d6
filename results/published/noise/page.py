"""Lookups of results/published/noise/README.md: shares of variance, rounding, placebos."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from docs.build import markdown
from docs.build.published import STUDIES
from pe_lab.contrib.grids import variance
from pe_lab.results import frame

LENGTHS = (10, 12, 16)
FACTORS = ("initialization", "data")
ROUNDING = "rounding"
# The same runs in three orders of summation: the contiguous runs of the placebos, and two studies.
ORDERS = ("noise_placebo", "noise_vmap", "noise_reference")
SEEDS = (3, 6, 10)  # of the smallest difference that can be told from noise
RESAMPLES = 2000
Z = 1.96  # standard errors of a 95 % interval

Numbers = Float[np.ndarray, "k"]
Drawn = Int[np.ndarray, "n"]  # indices of seeds
Variant = tuple[str, str]  # labels of the encoding and the positions
Grid = Float[np.ndarray, "i d"]  # exact match by seed of the weights and of the data


def lookups(root: Path) -> dict[str, Any]:
    full = _tests(root / STUDIES / "noise")
    placebos = _tests(root / STUDIES / ORDERS[0])
    parts = shares(root)
    return {
        "shares": shares_table(full, parts),
        "differences": differences_table(full),
        "placebos": placebo_table(placebos),
        "largest_gap": lambda name, length: f"{np.abs(_gaps(placebos, name, length)).max():.2f}",
        "mean_gap": lambda name, length: _signed(_gaps(placebos, name, length).mean()),
        "few": SEEDS[0],
        "many": SEEDS[-1],
        "share": lambda *at: f"{parts.loc[at].value:.2f}",
        "share_interval": lambda *at: _brackets(parts.loc[at]),
        "rounding": lambda *at: f"{parts.loc[(*at, ROUNDING)].value:.2f}",
        "smallest": lambda name, length, seeds: f"{_smallest(full, name, length, seeds):.2f}",
        "initial_seeds": str(full["seed"].nunique()),
        "data_seeds": str(full["data_seed"].nunique()),
        "rates": rates(root / STUDIES / "noise"),
        "z": f"{Z:.2f}",
    }


def rates(folder: Path) -> str:
    """Return the learning rate of each encoding, as text."""
    by_name = {}
    for config in frame.read(folder).cases["config"]:
        (encoding,) = config["model"]["encodings"]
        by_name[encoding["name"]] = config["train"]["learning_rate"]
    return ", ".join(f"{rate:g} for `{name}`" for name, rate in sorted(by_name.items()))


def _tests(folder: Path) -> pd.DataFrame:
    """Return exact match in the test, with the encoding and the positions of each run."""
    numbers = frame.read(folder).numbers
    tests = numbers.query("metric == 'exact_match' and split == 'test'")
    columns = ["model.encodings", "positions", "seed", "data_seed", "length", "value"]
    return tests[columns].astype({"model.encodings": str, "positions": str})


@functools.cache
def shares(root: Path) -> pd.DataFrame:
    """Return the shares of a run's variance, of each encoding and length.

    Index: encoding, length and part. Columns: value, low and high.
    """
    full = _tests(root / STUDIES / "noise")
    orders = [_tests(root / STUDIES / name) for name in ORDERS]
    frames = {}
    for encoding in full["model.encodings"].unique():
        for length in LENGTHS:
            by_order = [_by_seed(order, encoding, "contiguous", length) for order in orders]
            frames[encoding, length] = _shares(_grid(full, encoding, length), np.array(by_order))
    return pd.concat(frames)


def _shares(grid: Grid, by_order: Float[np.ndarray, "o s"]) -> pd.DataFrame:
    """Return the shares of the seeds and of rounding, with their intervals; the index is part."""

    def of_seeds(rows: Drawn, columns: Drawn) -> list[float]:
        return list(variance.shares(grid[np.ix_(rows, columns)], FACTORS).values())

    def of_rounding(rows: Drawn, columns: Drawn, runs: Drawn) -> float:
        return _rounding_share(grid[np.ix_(rows, columns)], by_order[:, runs])

    parts = pd.DataFrame({"value": variance.shares(grid, FACTORS)})
    parts["low"], parts["high"] = _interval(of_seeds, grid.shape)
    low, high = _interval(of_rounding, (*grid.shape, by_order.shape[1]))
    parts.loc[ROUNDING] = [_rounding_share(grid, by_order), low, high]
    return parts


def _rounding_share(grid: Grid, by_order: Float[np.ndarray, "o s"]) -> float:
    """Return the variance between orders of summation, relative to that between runs."""
    within = by_order.var(axis=0, ddof=1).mean()
    total = sum(max(0.0, c) for c in variance.components(grid, FACTORS).values())
    return float(within / total) if total else float("nan")


def _interval(
    statistic: Callable[..., float | list[float]], sizes: Sequence[int]
) -> Float[np.ndarray, "2 ..."]:
    """Return the percentile interval of a statistic, from seeds that are drawn anew.

    Args:
      statistic: of the drawn indices of each axis.
      sizes: of the axes.
    """
    generator = np.random.default_rng(0)
    values = []
    for _ in range(RESAMPLES):
        drawn = [generator.integers(size, size=size) for size in sizes]
        values.append(statistic(*drawn))
    return np.nanquantile(values, [0.025, 0.975], axis=0)


def shares_table(full: pd.DataFrame, parts: pd.DataFrame) -> str:
    """Return the mean, the deviation of a run, and the shares of its variance."""
    rows = [["encoding", "length", "mean", "sd of a run", *FACTORS, "both together", ROUNDING]]
    for (encoding, length), of_runs in parts.groupby(level=[0, 1], sort=False):
        grid = _grid(full, encoding, length)
        cells = [f"{share.value:.2f} {_brackets(share)}" for share in of_runs.itertuples()]
        moments = [f"{grid.mean():.2f}", f"{grid.std(ddof=1):.3f}"]
        rows.append([f"`{encoding}`", str(length), *moments, *cells])
    return markdown.table(rows)


def _brackets(share: Any) -> str:
    return f"[{share.low:.2f}, {share.high:.2f}]"


def differences_table(full: pd.DataFrame) -> str:
    """Return the smallest difference of two means that is unlikely to be noise."""
    rows = [["encoding", "length", *(f"{n} seeds" for n in SEEDS)]]
    for encoding in full["model.encodings"].unique():
        for length in LENGTHS:
            cells = [f"{_smallest(full, encoding, length, n):.2f}" for n in SEEDS]
            rows.append([f"`{encoding}`", str(length), *cells])
    return markdown.table(rows)


def _smallest(full: pd.DataFrame, encoding: str, length: int, seeds: int) -> float:
    """Return Z standard errors of the difference of two means of so many seeds."""
    deviation = _grid(full, encoding, length).std(ddof=1)
    return float(Z * deviation * (2 / seeds) ** 0.5)


def placebo_table(placebos: pd.DataFrame) -> str:
    """Return the differences of runs of the same seed under two names of one function."""
    rows = [["placebo", "length", "mean difference", "largest difference of a seed"]]
    for name in _pairs(placebos):
        for length in LENGTHS:
            gaps = _gaps(placebos, name, length)
            largest = f"{np.abs(gaps).max():.2f}"
            rows.append([f"`{name}`", str(length), _signed(gaps.mean()), largest])
    return markdown.table(rows)


def _gaps(placebos: pd.DataFrame, name: str, length: int) -> Numbers:
    """Return the difference of a placebo from its original, by seed."""
    placebo, original = _pairs(placebos)[name]
    return _by_seed(placebos, *placebo, length) - _by_seed(placebos, *original, length)


def _pairs(placebos: pd.DataFrame) -> dict[str, tuple[Variant, Variant]]:
    """Map the name of each placebo to itself and its original."""
    variants = placebos[["model.encodings", "positions"]].drop_duplicates()
    pairs = {}
    for encoding, positions in variants.itertuples(index=False):
        original = encoding.partition(",")[0], "contiguous"
        if (encoding, positions) != original:
            name = encoding if positions == "contiguous" else f"{encoding} · shifted"
            pairs[name] = (encoding, positions), original
    return pairs


def _signed(number: float) -> str:
    return f"{number:+.2f}".replace("-", "−")


def _grid(full: pd.DataFrame, encoding: str, length: int) -> Grid:
    rows = full[(full["model.encodings"] == encoding) & (full["length"] == length)]
    return rows.pivot(index="seed", columns="data_seed", values="value").to_numpy()


def _by_seed(runs: pd.DataFrame, encoding: str, positions: str, length: int) -> Numbers:
    """Return exact match in the order of the seeds."""
    is_variant = (runs["model.encodings"] == encoding) & (runs["positions"] == positions)
    rows = runs[is_variant & (runs["length"] == length)].sort_values("seed")
    return rows["value"].to_numpy()
