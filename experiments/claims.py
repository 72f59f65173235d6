"""Claims of papers, and what published runs say about them."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from docs.build import markdown, reproductions
from docs.build.published import STUDIES
from pe_lab.contrib.papers import reproduction
from pe_lab.contrib.papers.reproduction import Outcome
from pe_lab.results import (
    compare,
    formats,
    frame,
    metrics,
    selection,
    statistics,
)
from pe_lab.results.plots import styles
from pe_lab.results.study import Study
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.studies.analysis_spec import SEPARATOR, Contrast, MetricSpec

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURE = Path("docs/pictures/reproductions/theirs_and_ours.png")
# The verdict is second, where a phone shows it without scrolling.
_HEADER = ("claim", "verdict", "at", "theirs", "ours", "a − b", "solved")


def studies(root: Path) -> list[Study]:
    """Return the published studies that test claims of a paper, by name."""
    return [frame.read(root / STUDIES / name) for name in reproductions.studies(root)]


def lookups(study: Study) -> JsonObject:
    """Return the names of a page whose study tests claims; none for other studies."""
    spec = study.spec.reproduction
    if not spec.claims:
        return {}
    outcomes = reproduction.outcomes(study)
    rates = sorted({config["train"]["learning_rate"] for config in study.cases["config"]})
    return {
        "claims": markdown.table([_HEADER, *map(_row, outcomes)]),
        "over_all_pairs": functools.partial(over_all_pairs, study),
        "reproduction": {
            "paper": spec.paper,
            "is_authors_size": spec.is_authors_size,
            "rates": rates,
            "verdicts": [outcome.verdict for outcome in outcomes],
            "num_unsolved": sum(not outcome.is_solved for outcome in outcomes),
        },
    }


def over_all_pairs(study: Study) -> str:
    """Return the table of the means of a and b over all pairs of each claim about a mean.

    A verdict counts solved pairs alone, and this table all of them. A row is over the seeds for
    which every variant of its pairs has a number. The last row has the pairs of all claims.
    """
    chosen = selection.choose(study)
    claims = [claim for claim in study.spec.reproduction.claims if claim.is_mean]
    (metric,) = {reproduction.metric_of(chosen, claim) for claim in claims}  # one for all
    rows = [["a, b", "pairs", "seeds", "a", "b", "a − b"]]
    every: list[reproduction.VariantPair] = []
    for claim in claims:
        pairs = compare.pairs(chosen, Contrast(claim.a, claim.b))
        rows.append([f"`{claim.a}`, `{claim.b}`", *_means(chosen, pairs, metric)])
        every += pairs
    rows.append(["all", *_means(chosen, every, metric)])
    return markdown.table(rows)


def _means(
    study: Study, pairs: Sequence[reproduction.VariantPair], metric: MetricSpec
) -> list[str]:
    """Return the numbers of pairs and of seeds, the means of a and b, and a − b with interval."""
    by_seed = reproduction.mean_by_seed(study, pairs, metric)
    means = [statistics.mean(side) for side in zip(*by_seed, strict=True)] or [None, None]
    differences = [a - b for a, b in by_seed]
    interval = compare.of_differences(differences, metric.name)
    style = metrics.BY_NAME[metric.name].style
    texts = [formats.number(value, style) for value in means]
    difference = formats.difference(statistics.mean(differences), interval, formats.decimals(style))
    return [str(len(pairs)), str(len(by_seed)), *texts, difference]


def _row(outcome: Outcome) -> list[str]:
    claim = outcome.claim
    names, verdict, difference = f"a: {outcome.a}", f"**{outcome.verdict}**", formats.DASH
    style = metrics.BY_NAME[outcome.metric.name].style
    ours = _numbers(outcome.means, style)
    solved = " and ".join(map(str, outcome.solved))
    if outcome.reason:
        verdict += f": {outcome.reason}"
    if claim.b:
        names += f", b: {outcome.b}"
        difference = formats.difference(
            outcome.difference, outcome.interval, formats.decimals(style)
        )
    else:
        ours += formats.bracket(outcome.interval, style)
    if claim.first_solved:
        solved = "{} of {} drawn".format(*outcome.solved)
    if claim.is_mean:
        num_solved, num_pairs = outcome.solved
        solved = f"{num_solved} of {num_pairs} pairs"
    return [
        f"{claim.text} ({names})",
        verdict,
        _at(outcome),
        _numbers(claim.figures, style),
        ours,
        difference,
        solved,
    ]


def draw(root: Path) -> None:
    """Draw the papers' numbers and ours, one row for each claim whose numbers were read."""
    from pe_lab.results.plots import drawing

    of_papers: dict[str, list[Outcome]] = {}
    for study in studies(root):
        outcomes = [o for o in reproduction.outcomes(study) if o.claim.figures]
        if outcomes:
            of_papers[f"{study.spec.reproduction.paper}: {study.name}"] = outcomes
    num_rows = [len(outcomes) for outcomes in of_papers.values()]
    with drawing.settings():
        figure, panels = drawing.pyplot().subplots(
            len(of_papers),
            figsize=(drawing.WIDTH, 0.22 * sum(num_rows) + 0.7 * len(of_papers)),
            height_ratios=num_rows,
            squeeze=False,
            layout="constrained",
        )
        for axes, (title, outcomes) in zip(panels.flat, of_papers.items(), strict=True):
            draw_dots(axes, outcomes)
            axes.set_title(title, loc="left")
        drawing.legend(figure)
        drawing.save(figure, [root / PICTURE], few_colors=True)


def draw_dots(axes: "Axes", outcomes: Sequence[Outcome]) -> None:
    """Draw the paper's number and ours with its interval, a row for each outcome.

    For a claim about two variants, both numbers are differences a − b. Our dot is hollow if too few
    seeds solved the training lengths.
    """
    color = styles.PALETTE[0]
    names = []
    for row, outcome in enumerate(outcomes):
        theirs, ours = outcome.claim.figures[0], outcome.means[0]
        if outcome.claim.b:
            theirs, ours = theirs - outcome.claim.figures[1], outcome.difference
        fill = color if outcome.is_solved else "white"
        axes.plot([theirs], [row], "D", color="0.4", markerfacecolor="white", label="theirs")
        if ours is not None:
            axes.plot([ours], [row], "o", color=color, markerfacecolor=fill, label="ours")
        if outcome.interval is not None:
            axes.plot([outcome.interval.low, outcome.interval.high], [row] * 2, color=color)
        variants = " − ".join(map(in_words, filter(None, (outcome.a, outcome.b))))
        names.append(f"{variants}, {_at(outcome).removeprefix('mean over ')}")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)  # the first row at the top
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, -0.15), max(high, 1.1))
    label = metrics.BY_NAME[outcomes[0].metric.name].label
    axes.set_xlabel(f"difference in {label}" if outcomes[0].b else label)


def in_words(variant: str) -> str:
    """Return the name of a variant as pictures have it: "sort · RoPE"."""
    return SEPARATOR.join(map(styles.words, variant.split(SEPARATOR)))


def _at(outcome: Outcome) -> str:
    """Return the metric and the length, without words that most rows share."""
    at = str(outcome.metric.point).removeprefix("at ")
    if outcome.claim.metric or outcome.metric.name != "exact_match":
        at = f"{metrics.BY_NAME[outcome.metric.name].label}, {at}"
    return at


def _numbers(values: Sequence[float | None], style: str) -> str:
    if all(value is None for value in values):
        return formats.DASH
    return " and ".join(formats.number(value, style) for value in values)
