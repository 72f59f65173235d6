"""Lookups of results/published/noise/README.md: shares of variance, rounding, placebos."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from docs.build import markdown
from docs.build.numbers import STUDIES
from pe_lab.results import frame, variance

LENGTHS = (10, 12, 16)
FACTORS = ("initialization", "data")
BOTH = variance.JOIN.join(FACTORS)
# The same runs in three orders of summation: the contiguous runs of the placebos, and two studies.
ORDERS = ("noise_placebo", "noise_vmap", "noise_reference")
SEEDS = (3, 6, 10)  # of the smallest difference that can be told from noise
RESAMPLES = 2000
Z = 1.96  # standard errors of a 95 % interval

Numbers = Float[np.ndarray, "k"]
Orders = Sequence[pd.DataFrame]
Variant = tuple[str, str]  # labels of the encoding and the positions
Grid = Float[np.ndarray, "i d"]  # exact match by seed of the weights and of the data


def lookups(root: Path) -> dict[str, Any]:
    full = _tests(root / STUDIES / "noise")
    orders = [_tests(root / STUDIES / name) for name in ORDERS]
    placebos = orders[0]
    return {
        "shares": shares_table(full, orders),
        "differences": differences_table(full),
        "placebos": placebo_table(placebos),
        "largest_gap": lambda name, length: f"{np.abs(_gaps(placebos, name, length)).max():.2f}",
        "mean_gap": lambda name, length: _signed(_gaps(placebos, name, length).mean()),
        "few": SEEDS[0],
        "many": SEEDS[-1],
        "share": lambda name, length, part: f"{_shares(full, name, length)[part]:.2f}",
        "share_interval": functools.partial(_share_interval, full),
        "rounding": functools.partial(_rounding, full, orders),
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


def shares_table(full: pd.DataFrame, orders: Orders) -> str:
    """Return the mean, the deviation of a run, and the shares of its variance."""
    rows = [["encoding", "length", "mean", "sd of a run", *FACTORS, "both together", "rounding"]]
    for encoding in full["model.encodings"].unique():
        for length in LENGTHS:
            cells = _shares_row(_grid(full, encoding, length))
            rounding = _rounding_cell(full, orders, encoding, length)
            rows.append([f"`{encoding}`", str(length), *cells, rounding])
    return markdown.table(rows)


def _rounding_cell(full: pd.DataFrame, orders: Orders, encoding: str, length: int) -> str:
    """Return the share of rounding, with the interval from seeds that are drawn anew."""
    grid, by_order = _grid(full, encoding, length), _by_order(orders, encoding, length)
    generator = np.random.default_rng(0)
    values = []
    for _ in range(RESAMPLES):
        rows, columns, runs = (
            generator.integers(size, size=size) for size in (*grid.shape, by_order.shape[1])
        )
        values.append(_rounding_share(grid[np.ix_(rows, columns)], by_order[:, runs]))
    low, high = np.nanquantile(values, [0.025, 0.975])
    return f"{_rounding_share(grid, by_order):.2f} [{low:.2f}, {high:.2f}]"


def _rounding(full: pd.DataFrame, orders: Orders, encoding: str, length: int) -> str:
    share = _rounding_share(_grid(full, encoding, length), _by_order(orders, encoding, length))
    return f"{share:.2f}"


def _rounding_share(grid: Grid, by_order: Float[np.ndarray, "o s"]) -> float:
    """Return the variance between orders of summation, relative to that between runs."""
    within = by_order.var(axis=0, ddof=1).mean()
    total = sum(max(0.0, c) for c in variance.components(grid, FACTORS).values())
    return float(within / total) if total else float("nan")


def _by_order(orders: Orders, encoding: str, length: int) -> Float[np.ndarray, "o s"]:
    return np.array([_by_seed(order, encoding, "contiguous", length) for order in orders])


def _shares(full: pd.DataFrame, encoding: str, length: int) -> dict[str, float]:
    return variance.shares(_grid(full, encoding, length), FACTORS)


def _share_interval(full: pd.DataFrame, encoding: str, length: int, part: str) -> str:
    low, high = _interval(functools.partial(_share, part), _grid(full, encoding, length))
    return f"[{low:.2f}, {high:.2f}]"


def _shares_row(grid: Grid) -> list[str]:
    """Return the cells of one encoding at one length."""
    mean, deviation = f"{grid.mean():.2f}", f"{grid.std(ddof=1):.3f}"
    shares = variance.shares(grid, FACTORS)
    cells = []
    for name in (*FACTORS, BOTH):
        low, high = _interval(functools.partial(_share, name), grid)
        cells.append(f"{shares[name]:.2f} [{low:.2f}, {high:.2f}]")
    return [mean, deviation, *cells]


def _share(name: str, grid: Grid) -> float:
    return variance.shares(grid, FACTORS)[name]


def _interval(statistic: Callable[[Grid], float], grid: Grid) -> tuple[float, float]:
    """Return the percentile interval from seeds of both kinds that are drawn anew."""
    generator = np.random.default_rng(0)
    num_initial, num_data = grid.shape
    values = []
    for _ in range(RESAMPLES):
        rows = generator.integers(num_initial, size=num_initial)
        columns = generator.integers(num_data, size=num_data)
        values.append(statistic(grid[np.ix_(rows, columns)]))
    low, high = np.nanquantile(values, [0.025, 0.975])
    return float(low), float(high)


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
