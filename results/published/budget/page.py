"""Does extrapolation rise or fall with the budget? The numbers that configs/budget.py declares.

`python -m results.published.budget.page` averages the parameters that the study keeps in
results/budget, and writes their exact match beside its published records.
"""

import functools
import importlib
import json
from pathlib import Path
from typing import Any

import jax
import pandas as pd
from jaxtyping import Array, Float, PyTree

from docs.build import markdown
from pe_lab.contrib.grids import run_scores
from pe_lab.contrib.grids.tables import setting_tables
from pe_lab.contrib.prose.numbers import listed
from pe_lab.results import equivalence, formats, frame, metrics, statistics
from pe_lab.runs.records import records, run_group_files
from pe_lab.runs.records.evaluation_points import EvaluationPoint
from pe_lab.runs.records.record_schema import Record
from pe_lab.runs.run import from_record
from pe_lab.training.build import build_setup
from pe_lab.training.evaluate import Evaluator
from pe_lab.training.provenance import provenance
from pe_lab.training.setup import Setup
from pe_lab.training.trained_runs import checkpoint_of, params_through_training
from results.published.suite_grid_copying import page as suite_grid

config = importlib.import_module("configs.budget")
TRAINED = Path("results/budget")
FOLDER = Path("results/published/budget")
AVERAGED = FOLDER / "averaged.json"
RATE, BUDGET, ALL = "train.learning_rate", "train.steps", "all rates"
LONGEST, USUAL = f"{config.BUDGETS[-1]} steps", f"{config.BUDGETS[1]} steps"
STEPS = [str(steps) for steps in config.BUDGETS]
AT_TWICE = run_scores.at(2)
LIMITS = metrics.range_of_difference("exact_match")
# Rules of choice that the page shows; no contrast of them was declared.
RULES = ("lowest mean loss", "highest exact match at 1.25×", "random solved setting")
# Of the rules that the config declares.
FEWEST_SEEDS, HIGH, FALL, SOLVED = 3, 0.9, 0.5, 0.99


def measure(root: Path) -> None:
    """Evaluate the averaged parameters of every new run whose parameters are in results/budget."""
    measured, source = {}, None
    for run_id, record in records.read_all(root / TRAINED).items():
        run = from_record(record["config"])
        if run.train.steps != config.BUDGETS[1] and keeps_parameters(root / TRAINED, record):
            params = averaged(root / TRAINED, record)
            measured[run_id] = exact_match(build_setup(run), params)
            source = source or provenance(run)
    records.write_json(root / AVERAGED, {"provenance": source, "exact_match": measured})


def keeps_parameters(folder: Path, record: Record) -> bool:
    """Return whether a run is finished and was trained in this folder, which keeps its parameters.

    Records of runs that were trained on another machine come without them.
    """
    if record["status"] != "finished":
        return False
    saved_as = checkpoint_of(folder, record)
    return run_group_files.path_of(folder, saved_as["run_group"]).exists()


def averaged(folder: Path, record: Record) -> PyTree[Float[Array, "..."]]:
    """Return the mean of a run's parameters over the curve points of its last tenth."""
    steps = record["config"]["train"]["steps"]
    points = params_through_training(folder, record)
    last = [params for step, params in points if 10 * step >= 9 * steps]
    return jax.tree.map(lambda *leaves: sum(leaves) / len(leaves), *last)


def exact_match(setup: Setup, params: PyTree[Float[Array, "..."]]) -> float:
    """Return exact match in the test at twice the training length, on the examples of records."""
    length = 2 * setup.run.train.max_length
    evaluator = Evaluator(setup, [length], lambda function, *_: jax.jit(function))
    of_one_member = jax.tree.map(lambda leaf: leaf[None], params)
    (rows,) = evaluator.rows(of_one_member, [EvaluationPoint("test", length, 0)])
    (value,) = [row["value"] for row in rows if row["metric"] == "exact_match"]
    return float(value)


@functools.cache
def scores(root: Path) -> pd.DataFrame:
    """Return one row for each run, with the columns of run_scores.of and of_curves, and:

    name: the encoding and its positions.
    is_new: whether it is a finished run of another budget than the usual one.
    averaged: exact match at twice the length with averaged parameters; NaN if not measured.
    """
    study = frame.read(root / FOLDER)
    runs = run_scores.of(study.numbers)
    measured = json.loads((root / AVERAGED).read_text(encoding="utf-8"))["exact_match"]
    runs = runs.assign(
        name=names(runs),
        is_new=(runs["status"] == "finished") & (runs[BUDGET] != USUAL),
        averaged=runs["run_id"].map(measured),
    )
    is_averaged = runs["averaged"].notna()
    assert is_averaged.sum() == len(measured), f"{AVERAGED} has other runs"
    assert runs.loc[is_averaged, "is_new"].all(), f"{AVERAGED} has runs of {USUAL}"
    return runs.join(of_curves(study.curves), on="run_id")


def names(runs: pd.DataFrame) -> list[str]:
    """Return the name of the encoding of each run, with its positions."""
    labels = runs[["model.encodings", "positions"]].to_numpy()
    return [" · ".join(filter(None, row)) for row in labels]


def of_curves(curves: pd.DataFrame) -> pd.DataFrame:
    """Return exact match at twice the training length on the curve of each run.

    Index: run_id. Columns: best, at any point; last; and first_solved, at the first point with an
    exact match of SOLVED at the training length, NaN without one.
    """
    rows = curves[curves["metric"] == "exact_match"].astype({"run_id": str, "length": int})
    rows = rows.assign(multiple=rows["length"] / rows["max_length"])
    table = rows.pivot(index=["run_id", "step"], columns="multiple", values="value").sort_index()
    by_run = table[2].groupby("run_id")
    first_solved = table.loc[table[1] >= SOLVED, 2].groupby("run_id").first()
    return pd.DataFrame(dict(best=by_run.max(), last=by_run.last(), first_solved=first_solved))


def changes(runs: pd.DataFrame) -> dict[tuple[str, str], list[float]]:
    """Return the longest budget minus the usual one, in exact match at twice the training length.

    There is one difference for each seed that solves the training lengths with both. Keys are the
    name and the label of the rate.
    """
    differences = {}
    for (name, rate), of_rate in runs.groupby(["name", RATE], sort=False):
        solved = of_rate[of_rate["solved"]]
        by_budget = solved.pivot(index="seed", columns=BUDGET, values=AT_TWICE)
        pairs = by_budget.reindex(columns=[LONGEST, USUAL]).dropna()
        differences[name, rate] = (pairs[LONGEST] - pairs[USUAL]).tolist()
    return differences


def gap(runs: pd.DataFrame, pair: tuple[str, str], rate: str, budget: str) -> str:
    """Return the mean difference of two encodings at a rate and a budget, over all seeds."""
    of_both = runs[(runs[RATE] == rate) & (runs[BUDGET] == budget) & runs["name"].isin(pair)]
    by_seed = of_both.pivot(index="seed", columns="name", values=AT_TWICE).dropna()
    return _mean_change((by_seed[pair[0]] - by_seed[pair[1]]).tolist())


def verdict(differences: list[float]) -> str:
    """Return rises, falls, stays or undecided. An interval that excludes 0 decides first.

    The interval is Student's, as for contrasts with five to nine pairs. Contrasts have none below.
    """
    interval = statistics.t_interval(differences, LIMITS)
    if interval is None or len(differences) < FEWEST_SEEDS:
        return "undecided"
    if interval.low > 0:
        return "rises"
    if interval.high < 0:
        return "falls"
    return "stays" if equivalence.verdict(interval, config.MARGIN) == "alike" else "undecided"


def collapses(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of runs that collapse, of those that solve the training lengths.

    Index: name and label of the rate, or ALL. Columns: collapsed, solved and text. ALL has Wilson's
    interval, as if the runs of a seed were independent.
    """
    is_high = runs["best"] >= HIGH
    falls = runs["best"] - runs["last"] >= FALL
    runs = runs.assign(collapsed=runs["solved"] & is_high & falls)
    runs = pd.concat([runs, runs.assign(**{RATE: ALL})])
    counts = runs.groupby(["name", RATE], sort=False)[["collapsed", "solved"]].sum()
    texts = []
    for (_, rate), row in counts.iterrows():
        interval = statistics.wilson(*row) if rate == ALL else None
        texts.append(f"{row['collapsed']} of {row['solved']}{formats.bracket(interval)}")
    return counts.assign(text=texts)


def mean_difference(runs: pd.DataFrame, a: str, b: str) -> formats.Cell:
    """Return the mean of a - b over new runs, with a percentile bootstrap interval over seeds."""
    # A run that never reaches SOLVED has no first point.
    new = runs[runs["is_new"]].dropna(subset=[a, b])
    differences = new[a] - new[b]
    # A seed is drawn with all of its runs, which share its data.
    by_seed = differences.groupby(new["seed"]).agg(["sum", "size"]).to_numpy(float)
    interval = statistics.bootstrap(
        [by_seed], lambda x: x[..., 0].sum(axis=-1) / x[..., 1].sum(axis=-1), corrected=False
    )
    mean = float(differences.mean())
    text = f"{formats.difference(mean, interval)} over {len(new)} runs"
    return formats.Cell(text, mean, interval, len(new))


@functools.cache
def regrets(root: Path) -> dict[tuple[str, str], str]:
    """Return what each rule of choice loses over all encodings, by rule and budget."""
    texts = {}
    for budget, runs in scores(root).groupby(BUDGET, sort=False):
        table = setting_tables.compare_rules(runs, RATE, 2)
        for rule in RULES:
            texts[rule, str(budget)] = setting_tables.rule_cell(table, rule, "regret").text
    return texts


def _regrets_table(texts: dict[tuple[str, str], str]) -> str:
    rows = [[rule, *(texts[rule, f"{steps} steps"] for steps in STEPS)] for rule in RULES]
    return markdown.table([["rule", *(f"{steps} steps" for steps in STEPS)], *rows])


def lookups(root: Path) -> dict[str, Any]:
    runs = scores(root)
    differences = pd.Series(changes(runs))
    verdicts = [verdict(of_seeds) for of_seeds in differences]
    texts, counts = differences.map(_change), collapses(runs)["text"]
    return {
        "changes_table": _table(texts),
        "change": lambda name, rate: texts[name, rate],
        "mean_change": lambda name, rate: _mean_change(differences[name, rate]),
        "gap": lambda a, b, rate, steps: gap(runs, (a, b), rate, f"{steps} steps"),
        "num_with": lambda word: f"{verdicts.count(word)} of {len(verdicts)}",
        "collapses_table": _table(counts),
        "collapses": lambda name, rate=ALL: counts[name, rate],
        "regret": lambda rule, steps: regrets(root)[rule, f"{steps} steps"],
        "regrets_table": lambda: _regrets_table(regrets(root)),
        "lowest_loss_rate": lambda name, steps: suite_grid.chosen_rate(
            runs[runs[BUDGET] == f"{steps} steps"], name
        ),
        "averaging": mean_difference(runs, "averaged", AT_TWICE).text,
        "stopping": mean_difference(runs, "first_solved", "last").text,
        "budgets": listed(STEPS),
        "longest": LONGEST,
        "usual": USUAL,
        "num_seeds": str(config.SEEDS),
        "rule": {"margin": config.MARGIN, "seeds": FEWEST_SEEDS, "high": HIGH, "fall": FALL},
    }


def draw(root: Path) -> None:
    """Draw exact match at twice the length against the budget: an axes for each encoding."""
    from pe_lab.results.plots import drawing, plotted, styles
    from pe_lab.results.plots.lines import lines

    study = frame.read(root / FOLDER)
    runs = run_scores.of(study.numbers)
    rates = list(runs[RATE].unique())
    runs = runs.assign(name=names(runs), steps=runs[BUDGET].str.removesuffix(" steps").astype(int))
    panels = list(runs.groupby("name", sort=False))
    with drawing.settings():
        figure, grid = drawing.grid(len(panels), columns=3, height=1.6)
        for axes, (_, of_name) in zip(grid, panels, strict=True):
            variant = str(of_name["variant"].iloc[0])
            solved = of_name.groupby([RATE, "steps"])["solved"].any()
            lines(
                of_name,
                x="steps",
                y=AT_TWICE,
                by=RATE,
                order=rates,
                labels={rate: f"learning rate {rate}" for rate in rates},
                looks=styles.assign([rates]),
                hollow=set(solved.index[~solved]),
                centers=of_name.groupby(["steps", RATE])[AT_TWICE].median().unstack(),
                axes=axes,
            )
            axes.set_title(plotted.in_words(study, variant, without=("task", RATE, BUDGET)))
            axes.set_xlabel("training steps")
            drawing.ticks_at(axes, config.BUDGETS)
            drawing.shares(axes)
        grid[0].set_ylabel("exact match")
        drawing.legend(figure)
        caption = "Lines: medians; dots: runs; hollow marks: no run solved the training lengths."
        title = "Exact match at twice the training length against training steps"
        drawing.titles(figure, title, caption)
        drawing.save(figure, [root / FOLDER / "budgets.png"], few_colors=True)


def _change(differences: list[float]) -> str:
    """Return the mean difference with its interval, the number of seeds and the verdict."""
    return f"{_mean_change(differences)}, {len(differences)} seeds: {verdict(differences)}"


def _mean_change(differences: list[float]) -> str:
    interval = statistics.t_interval(differences, LIMITS)
    return formats.difference(statistics.mean(differences), interval)


def _table(texts: pd.Series) -> str:
    """Return texts by name and rate, with a column for each rate."""
    table = texts.unstack(sort=False, fill_value=formats.DASH)
    rows = [[f"`{name}`", *row] for name, row in table.iterrows()]
    return markdown.table([["encoding", *table.columns], *rows])


if __name__ == "__main__":
    measure(Path())
