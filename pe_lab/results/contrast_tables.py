"""The tables of contrasts between variants, of their ranks over tasks, and of published figures."""

import itertools
from collections.abc import Sequence

from pe_lab.results import (
    compare,
    equivalence,
    metrics,
    notes,
    ranking,
    significance,
    statistics,
    summary,
    variant_names,
)
from pe_lab.results.compare import Comparison
from pe_lab.results.formats import DASH, Cell, Table, decimals, difference, number, p_value, signed
from pe_lab.results.study import Study
from pe_lab.runs.studies.analysis_spec import Figure, Literature

_PUBLISHED = (
    "*published* is copied from the source, *ours* is the median over our seeds. The protocols may "
    "differ: the config of the study lists the differences."
)


def contrasts(study: Study) -> Table:
    """The contrasts of the analysis spec, with p values adjusted over all of them."""
    comparisons = compare.contrasts(study)
    by_counts = any(comparison.count_decides for comparison in comparisons)
    by_pairs = any(comparison.decides for comparison in comparisons)
    # A column of p is left out if the seeds cannot decide any contrast.
    header = {
        "a against b": True,
        "extrapolates": not study.is_of_text,
        "p": by_counts,
        "a − b": True,
        "pairs": True,
        "p of a − b": by_pairs,
        "correlation": True,
        "a better": True,
        "remark": True,
    }
    is_shown = list(header.values())
    rows = []
    for comparison in comparisons:
        row = _contrast(comparison, study)
        rows.append(list(itertools.compress(row, is_shown)))
    barnard = ", with p of Barnard's exact test" if by_counts else ""
    counted = "" if study.is_of_text else f" *extrapolates*: of a and of b{barnard}."
    most_pairs = max((len(comparison.differences) for comparison in comparisons), default=0)
    kind = "exact" if most_pairs <= significance.EXACT_FLIPS else "sampled"
    flips = f"p of the {kind} sign-flip test (two-sided) and the " if by_pairs else "the "
    headline = metrics.BY_NAME[study.headline].label
    amount = notes.listed([len(comparisons)], "contrast")
    caption = (
        f"The {amount} of the analysis spec.{counted} "
        f"*a − b*: mean difference of {headline} {study.spec.extrapolation.point} unless "
        f"the remark says where, over the seeds that both have, with {flips}correlation "
        "of the pairs. *a better*: the probability that a run of a is better than one of b, ties "
        "half."
    )
    with_interval = [comparison for comparison in comparisons if comparison.interval]
    pairs = [len(comparison.differences) for comparison in with_interval]
    of_pairs = f"No interval of a − b with fewer than {statistics.EXACT_FROM} pairs."
    if pairs:
        of_pairs = f"Intervals of a − b: {_pair_intervals(pairs)}."
    table_notes = [*_p_notes(comparisons), of_pairs]
    if any(comparison.margin is not None for comparison in comparisons):
        table_notes.append(
            "Contrasts with a margin, which was declared before the runs, have no p. *alike*: the "
            "interval of a − b lies within the margin."
        )
    columns = list(itertools.compress(header, is_shown))
    return notes.table("Contrasts", caption, columns, rows, table_notes)


def ranks(study: Study) -> Table:
    """Mean ranks over tasks, or the reason why there are none."""
    ranked = ranking.ranking(study)
    ranks = ranked.ranks
    header = ("variant", "mean rank")
    basis = (
        f"Over the {len(ranked.tasks)} of {ranked.of} tasks that every one of these variants solved"
    )
    if ranks is None:
        reason = f"ranks are shown from {significance.RANKS_FROM} such tasks"
        if len(ranked.tasks) >= significance.RANKS_FROM:
            reason = (
                "no ranks: fewer than three variants, a missing median, or no task separates them"
            )
        caption = f"{basis}; {reason}."
        return Table("Ranks over tasks", caption, header, ())
    caption = (
        f"{basis}, by median exact match {study.spec.extrapolation.point}; 1 is best. Friedman's "
        f"test that all are equal: p "
        f"{p_value(ranks.p)}. Mean ranks less than {ranks.critical_difference:.2f} apart "
        f"are not told apart (Nemenyi, 0.05)."
    )
    note = (
        "Tasks are no random sample and resemble one another: these p are for this list of tasks."
    )
    rows = []
    for name, rank in zip(ranked.names, ranks.mean, strict=True):
        rows.append((Cell(name), Cell(number(rank), rank)))
    return Table("Ranks over tasks", caption, header, tuple(rows), (note,))


def _contrast(comparison: Comparison, study: Study) -> list[Cell]:
    a, b = comparison.counts
    is_compared = not comparison.reason
    improvement = comparison.improvement if is_compared else None
    # A p that no outcome of these seeds could bring below the level says nothing.
    count_p = comparison.count_holm if comparison.count_decides else None
    p = comparison.holm if comparison.decides else None
    remarks = []
    if comparison.metric.point != study.spec.extrapolation.point:
        remarks.append(str(comparison.metric.point))
    if not is_compared:
        remarks.append(f"not compared: {comparison.reason}")
    elif comparison.margin is not None:
        remarks.append(equivalence.remark(comparison.interval, comparison.margin))
    num_pairs = len(comparison.differences)
    places = decimals(metrics.BY_NAME[comparison.metric.name].style)
    row = study.by_name[comparison.a]
    is_text = study.has_text and (row["has_text"] or not row["finished"])
    return [
        Cell(f"{comparison.a} against {comparison.b}"),
        Cell(DASH if is_text else f"{a}, {b}"),
        Cell(p_value(count_p), count_p),
        Cell(difference(comparison.difference, comparison.interval, places), comparison.difference),
        Cell(str(num_pairs), num_pairs),
        Cell(p_value(p), p),
        Cell(signed(comparison.correlation), comparison.correlation),
        Cell(number(improvement), improvement),
        Cell("; ".join(remarks)),
    ]


def _p_notes(comparisons: Sequence[Comparison]) -> list[str]:
    """Return how p values are adjusted, and which are omitted because the seeds cannot decide."""
    tested = [comparison for comparison in comparisons if comparison.p is not None]
    if not tested:
        return []
    counts, pairs = [], []
    for comparison in tested:
        if comparison.count_p is not None and not comparison.count_decides:
            counts += [side.count for side in comparison.counts]
        if not comparison.decides:
            pairs.append(len(comparison.differences))
    level = f"below {significance.LEVEL:g}"
    # Contrasts with a margin have no p.
    num_declared = sum(comparison.margin is None for comparison in comparisons)
    if num_declared > 1:
        level += f" over {num_declared} contrasts"
    seeds = f"{notes.listed(counts)} a variant" if counts else ""
    runs = f"{notes.listed(pairs, 'pair')} of runs" if pairs else ""
    if not any(comparison.count_decides or comparison.decides for comparison in tested):
        return [f"{seeds or runs} cannot bring p {level}: no p is shown."]
    sentences = ["p: not adjusted, because one contrast is declared."]
    if num_declared > 1:
        sentences = [
            f"p: adjusted over all {num_declared} declared contrasts (Holm), each test by itself."
        ]
    if seeds:
        sentences.append(f"{seeds} cannot bring p of *extrapolates* {level}: it is not shown.")
    if runs:
        sentences.append(f"{runs} cannot bring p of *a − b* {level}: it is not shown.")
    return sentences


def _pair_intervals(pairs: Sequence[int]) -> str:
    fewest, most = min(pairs), max(pairs)
    methods = []
    if fewest < statistics.BOOTSTRAP_FROM:
        methods.append(f"Student's t{notes.covers('t', fewest)}")
    if most >= statistics.BOOTSTRAP_FROM:
        methods.append("BCa bootstrap over pairs")
    return f"{' or '.join(methods)}, of {notes.listed(pairs, 'pair')}"


def literature(study: Study) -> list[Table]:
    """Return one table for each source of the analysis spec.

    Args:
      study: of the variants that validation chose.
    """
    return [_figures(study, source) for source in study.spec.literature]


def _figures(study: Study, literature: Literature) -> Table:
    rows = tuple(_figure(study, figure) for figure in literature.figures)
    header = ("variant", "metric", "published", "ours")
    return Table(f"Figures of the literature: {literature.source}", _PUBLISHED, header, rows)


def _figure(study: Study, figure: Figure) -> tuple[Cell, ...]:
    metric = figure.metric
    published = Cell(number(figure.value, metrics.BY_NAME[metric.name].style), figure.value)
    names = variant_names.meant(study, figure.variant)
    names = [name for name in names if study.by_name[name]["finished"]]
    ours = Cell(DASH)
    # Labels that several variants have do not say which one is meant.
    if len(names) == 1:
        ours = summary.of_metric(study, study.cases_of(names[0]), metric).of(names[0])
    where = Cell(f"{metric.name} {metric.point}")
    return Cell(figure.variant), where, published, ours
