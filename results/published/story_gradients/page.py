"""Gradient norms through the training of story_gradients, and the verdict of its config.

`python -m results.published.story_gradients.page` computes them from the parameters that the study
keeps in results/story_gradients, and writes them beside its published records.
"""

import csv
import functools
import math
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.claims import in_words
from pe_lab.contrib.inspection.trained import gradient_norms
from pe_lab.contrib.prose.numbers import listed
from pe_lab.results import frame, statistics
from pe_lab.results.plots import drawing, styles
from pe_lab.runs.records import records

TRAINED = Path("results/story_gradients")
FOLDER = Path("results/published/story_gradients")
NORMS = FOLDER / "gradient_norms.csv"
PICTURE = FOLDER / "gradient_norms.png"
LENGTHS = (4, 8, 16, 24)
RATE = "train.learning_rate"
# Of the rule that the config declares.
_A, _B, _LENGTH, _LAST_STEP, _RATIO, _CLIPPING_NORM = "raw_index", "sinusoidal", 8, 300, 3, 1


def measure(root: Path) -> None:
    """Measure every run at every point of its curve, and draw the picture.

    Raises:
      UserError: the study kept no parameters.
    """
    with (root / NORMS).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["run_id", "step", "length", "norm"])
        for run_id, record in records.read_all(root / TRAINED).items():
            for norm in gradient_norms.through_training(root / TRAINED, record, LENGTHS):
                writer.writerow([run_id, norm.step, norm.length, f"{norm.norm:.4g}"])
    norms.cache_clear()
    draw(root)


@functools.cache
def norms(root: Path) -> pd.DataFrame:
    """One row for each run, step and length, with its variant, rate and seed."""
    runs = frame.read(root / FOLDER).cases[["run_id", "variant", RATE, "seed"]]
    names = [name.removesuffix(f" · {rate}") for name, rate in runs[["variant", RATE]].to_numpy()]
    runs = runs.assign(variant=names)
    return pd.read_csv(root / NORMS).merge(runs, on="run_id", validate="many_to_one")


def lookups(root: Path) -> dict[str, Any]:
    rows = norms(root)
    rates = sorted(rows[RATE].unique(), key=float)
    return {
        "norm": functools.partial(_norm, rows),
        "largest": functools.partial(_largest, rows),
        "ratio": functools.partial(_ratio, rows),
        "exploding_rates": listed(rate for rate in rates if _explodes(rows, rate)) or "no rate",
        "by_length": functools.partial(_by_length, rows),
        "low_rate": rates[0],
        "high_rate": rates[-1],
        "shortest": str(LENGTHS[0]),
        "longest": str(LENGTHS[-1]),
        "last_step": str(_LAST_STEP),
        "smallest_ratio": str(_RATIO),
    }


def _norm(rows: pd.DataFrame, variant: str, rate: str, step: int, length: int = _LENGTH) -> str:
    """Median norm over seeds."""
    return f"{_median(rows, variant, rate, step, length):.2g}"


def _median(rows: pd.DataFrame, variant: str, rate: str, step: int, length: int) -> float:
    is_row = (rows["variant"] == variant) & (rows[RATE] == rate)
    is_row &= (rows["step"] == step) & (rows["length"] == length)
    assert is_row.any(), f"no norm of {variant} at {rate}, step {step} and length {length}"
    return float(rows.loc[is_row, "norm"].median())


def ratios(rows: pd.DataFrame, rate: str, variant: str = _A) -> pd.DataFrame:
    """The ratio of a variant's norm to that of `sinusoidal` at each step of a rate.

    Columns are "ratio", of medians; "low" and "high", Student's t over the seeds' logarithms; and
    "explodes", whether the rule holds at this step.
    """
    rows = rows[(rows[RATE] == rate) & (rows["length"] == _LENGTH)]
    table = []
    for step, of_step in rows.groupby("step"):
        by_seed = of_step.pivot_table(index="seed", columns="variant", values="norm")
        pairs = by_seed[[variant, _B]].to_numpy()
        interval = statistics.t_interval([math.log(a / b) for a, b in pairs])
        assert interval is not None
        low, high = math.exp(interval.low), math.exp(interval.high)
        norm, reference = by_seed[variant].median(), by_seed[_B].median()
        is_large = norm / reference > _RATIO and norm >= _CLIPPING_NORM
        explodes = bool(is_large and low > 1 and step <= _LAST_STEP)
        row = {"step": step, "ratio": norm / reference, "low": low, "high": high}
        table.append({**row, "explodes": explodes})
    return pd.DataFrame(table).set_index("step")


def _explodes(rows: pd.DataFrame, rate: str) -> bool:
    return bool(ratios(rows, rate)["explodes"].any())


def _largest(rows: pd.DataFrame, rate: str, variant: str = _A) -> str:
    """The largest ratio up to the rule's last step, with its interval and step."""
    table = ratios(rows, rate, variant).loc[:_LAST_STEP]
    return _ratio(rows, rate, int(table["ratio"].idxmax()), variant)


def _ratio(rows: pd.DataFrame, rate: str, step: int, variant: str = _A) -> str:
    """The ratio at a step, with its interval."""
    row = ratios(rows, rate, variant).loc[step]
    return f"{row['ratio']:.1f} [{row['low']:.1f}, {row['high']:.1f}] at step {step}"


def _by_length(rows: pd.DataFrame, variant: str, rate: str) -> str:
    """The range over the rule's steps of the norm at the longest length over the shortest."""
    steps = sorted(step for step in rows["step"].unique() if step <= _LAST_STEP)
    quotients = []
    for step in steps:
        long, short = (_median(rows, variant, rate, step, n) for n in (LENGTHS[-1], LENGTHS[0]))
        quotients.append(long / short)
    return f"{min(quotients):.1f} to {max(quotients):.1f}"


def draw(root: Path) -> None:
    """Draw the norm against the step, a panel for each rate: medians and the range of seeds."""
    rows = norms(root)
    rows = rows[rows["length"] == _LENGTH]
    rates = sorted(rows[RATE].unique(), key=float)
    with drawing.settings():
        figure, axes = drawing.pyplot().subplots(
            1, len(rates), figsize=(drawing.WIDTH, 2.8), layout="constrained", sharey=True
        )
        for axis, rate in zip(axes, rates, strict=True):
            for index, variant in enumerate(rows["variant"].unique()):
                of_variant = rows[(rows[RATE] == rate) & (rows["variant"] == variant)]
                by_step = of_variant.groupby("step")["norm"]
                color = styles.PALETTE[index]
                axis.plot(by_step.median(), color=color, linewidth=1.2, label=in_words(variant))
                axis.fill_between(
                    by_step.min().index, by_step.min(), by_step.max(), color=color, alpha=0.15
                )
            axis.axhline(_CLIPPING_NORM, color="0.4", linestyle=":", linewidth=1)
            axis.set(title=f"learning rate {rate}", xlabel="step", yscale="log")
        axes[0].set_ylabel(f"gradient norm at length {_LENGTH}")
        axes[0].legend(loc="lower left")
        drawing.save(figure, [root / PICTURE], few_colors=True)


if __name__ == "__main__":
    measure(Path())
