"""The standard tables of a study: numbers by length, at the point of extrapolation, what was tuned,
contrasts, budgets, every seed.
"""

import itertools
from collections.abc import Sequence

from pe_lab.results import attainable, cells, compare, metrics, pivot, selection, statistics
from pe_lab.results.formats import DASH, Cell, Table
from pe_lab.results.metrics import BITS, BITS_SLIDING, CHANCE_CORRECTED
from pe_lab.results.results import Results, Variant
from pe_lab.runs.analysis_spec import Metric

_EXACT = (
    "Exact match: every token of the answer, its end included, is right, on the same examples for "
    "every run. *solved* counts the runs "
    "whose mean exact match over the validation lengths reaches the task's threshold; "
    "where it is not all of them, longer "
    "lengths say little about extrapolation."
)
_CHANCE_LEVEL = (
    "(accuracy − chance) / (1 − chance), where the chance level is reached by the most frequent "
    "symbol of each position at that length, without seeing the prompt."
)
_BITS = (
    "A byte, for bytes. Of windows side by side, every place counts; of the second half of each, "
    "as of a window that slides by half its "
    "length, where no window is shorter than the others. Less is better."
)
NAMES = {
    "exact_match": "Exact match",
    CHANCE_CORRECTED: "Token accuracy over the chance level",
    BITS: "Bits a token of text",
    BITS_SLIDING: "Bits a token, second half of each window",
}


def headline(results: Results) -> str:
    """The metric that a study is looked at for first."""
    return BITS if results.has_text else "exact_match"


def centre(results: Results) -> str:
    """How a table shows what is typical of seeds: their interquartile mean if every variant has
    ten, else their median.
    """
    return "iqm" if min(_seeds(results), default=0) >= statistics.BOOTSTRAP_FROM else "median"


def by_length(results: Results, metric: str, show: str, offset: int = 0) -> Table:
    """One row a variant: how many runs extrapolate and are solved, a metric at each length; the
    chance levels of accuracies.
    """
    first = (
        show != "mean"
        and not results.has_text
        and offset == results.spec.extrapolation.point.offset
    )
    header = [
        "variant",
        *(["extrapolates"] if first else []),
        "solved",
        *(pivot.length_name(results, n) for n in results.lengths),
    ]
    rows = []
    for v in results.variants:
        lead = [cells.measure(results, [v], Metric("extrapolates"))] if first else []
        values = [
            _beyond(results, v, n, _centre(v, n, offset, metric, show)) for n in results.lengths
        ]
        rows.append((cells.name(results, v), *lead, cells.solved([v]), *values))
    if metric in ("exact_match", "token_accuracy"):
        rows += _chance_levels(results, metric, len(header) - len(results.lengths) - 1)
    words = {"median": "median", "iqm": "interquartile mean", "mean": "mean ± standard deviation"}[
        show
    ]
    title = f"{NAMES[metric]} by length, {words} over seeds{_shift(offset)}"
    notes = _extrapolation_notes(results) if first else []
    notes += [cells.intervals_note(_seeds(results), show)] if show != "mean" else []
    caption = {
        "exact_match": _EXACT if first else "",
        CHANCE_CORRECTED: _CHANCE_LEVEL,
        BITS: _BITS,
    }.get(metric, "")
    return _table(results, title, caption, header, rows, notes, beyond=True)


def seeds(results: Results, metric: str, offset: int = 0) -> Table:
    """One row a run."""
    header = [
        "variant",
        "seed",
        "status",
        *(pivot.length_name(results, n) for n in results.lengths),
    ]
    rows = []
    for variant in results.variants:
        for run in variant.measured:
            values = [run.at(n, offset, metric) for n in results.lengths]
            own = [Cell(cells.number(v, metric), v) for v in values]
            seed = Cell(
                str(run.seed[0])
                if run.seed[0] == run.seed[1]
                else f"{run.seed[0]}, data {run.seed[1]}",
                run.seed[0],
            )
            rows.append((Cell(variant.name), seed, Cell(run.record["status"]), *own))
    return _table(
        results,
        f"{NAMES[metric]} by length, every seed{_shift(offset)}",
        "",
        header,
        rows,
        [],
        beyond=True,
    )


def summary(results: Results) -> Table:
    """At the point of extrapolation, and one number for the whole curve."""
    point = results.spec.extrapolation.point
    asked = [
        Metric("every_seed", label="each seed"),
        Metric("exact_match", point, label="median"),
        Metric("exact_match", point, "mean", "mean ± sd"),
        Metric("in_distribution"),
        Metric("log_auc"),
        Metric("L90"),
        Metric("L99"),
    ]
    if any(len(v.finished) >= statistics.BOOTSTRAP_FROM for v in results.variants):
        asked[2:2] = [Metric("exact_match", point, "iqm", "interquartile mean")]
    rows = [
        (cells.name(results, v), *(cells.measure(results, [v], m) for m in asked))
        for v in results.variants
    ]
    caption = (
        "Exact match there of each seed, and medians over seeds of: *up to training length*, mean "
        "exact match over the measured lengths "
        f"up to it; *log area*, mean exact match from once to {metrics.AREA_TO:g} times the "
        f"training length, over the logarithm of length; "
        "*L90* and *L99*, the longest measured length up to which exact match is at least 0.9 or "
        "0.99, smoothed to fall with length."
    )
    notes = ["≥: also at the longest length measured; <: not at the shortest."]
    notes += [
        cells.intervals_note(_seeds(results), show)
        for show in ("median", "iqm")
        if show in {m.show for m in asked}
    ]
    return _table(
        results,
        f"Exact match {point}",
        caption,
        ["variant", *(pivot.column(m, results) for m in asked)],
        rows,
        notes,
    )


def tuning(results: Results, chosen: Results) -> Table:
    """What was chosen by validation, and what would have come of the others."""
    tuned, point = results.spec.tuned, results.spec.extrapolation.point
    asked = Metric(BITS if results.has_text else "exact_match", point)
    settings = list(
        dict.fromkeys(selection.setting(c, tuned) for v in chosen.variants for c in v.candidates)
    )
    header = ["variant", "chosen", "validation loss", "tied settings", *settings]
    header += [pivot.SHOWN["best"]] if results.spec.oracle else []
    rows = []
    for v in chosen.variants:
        own = {
            selection.setting(c, tuned): cells.measure(results, [c], asked) for c in v.candidates
        }
        lead = [
            cells.measure(chosen, [v], Metric(name))
            for name in ("chosen", "in_distribution_loss", "tied")
        ]
        oracle = (
            [cells.measure(chosen, [v], Metric(asked.name, point, "best"))]
            if results.spec.oracle
            else []
        )
        rows.append(
            (cells.name(chosen, v), *lead, *(own.get(s, Cell(DASH)) for s in settings), *oracle)
        )
    axes = " and ".join(tuned)
    caption = (
        f"For each variant the setting of {axes} with the least mean validation loss over seeds "
        f"is chosen, at lengths up to the training "
        f"length and never by the test. Under each setting: median {NAMES[asked.name].lower()} "
        f"{point}. *tied settings*: the range of that "
        "over the settings with which as many seeds are solved, so that validation exact match "
        "does not tell them apart."
    )
    notes = [pivot.oracle_note(results)] if results.spec.oracle else []
    return _table(results, f"Choice of {axes}", caption, header, rows, notes)


def contrasts(results: Results) -> Table:
    """The declared ones, adjusted together."""
    found = compare.contrasts(results)
    of_counts, of_pairs = any(c.count_decides for c in found), any(c.decides for c in found)
    hidden = ["p"] * (not of_counts) + ["p of a − b"] * (not of_pairs)
    header = [
        "a against b",
        "extrapolates",
        "p",
        "a − b",
        "pairs",
        "p of a − b",
        "correlation",
        "a better",
        "remark",
    ]
    shown = [name not in hidden for name in header]
    rows = [tuple(itertools.compress(_contrast(c, results), shown)) for c in found]
    name = NAMES[headline(results)].lower()
    barnard = ", with p of Barnard's exact test" if of_counts else ""
    flips = "p of the exact sign-flip test (two-sided) and the " if of_pairs else "the "
    caption = (
        f"The {len(found)} contrasts of the analysis spec. *extrapolates*: of a and of b{barnard}. "
        f"*a − b*: mean "
        f"difference of {name} {results.spec.extrapolation.point} unless the remark says where, "
        f"over the seeds that both have, "
        f"with {flips}correlation of the pairs. *a better*: the probability "
        "that a run of a is better than one of b, ties half."
    )
    notes = _p_notes(found)
    pairs = [len(c.differences) for c in found if c.interval]
    notes += (
        [f"Intervals of a − b: {_pair_intervals(pairs)}."]
        if pairs
        else ["No interval of a − b with fewer than 5 pairs."]
    )
    return _table(
        results, "Contrasts", caption, list(itertools.compress(header, shown)), rows, notes
    )


def ranking(results: Results) -> Table:
    """Mean ranks over tasks, or why there are none."""
    found = compare.ranking(results)
    ranks = found.ranks
    rows = (
        [
            (Cell(name), Cell(cells.number(r), r))
            for name, r in zip(found.names, ranks.mean, strict=True)
        ]
        if ranks
        else []
    )
    need = (
        f"Over the {len(found.tasks)} of {found.of} tasks that every one of these variants solved"
    )
    if ranks is None:
        return Table(
            "Ranks over tasks",
            f"{need}; ranks are shown from {statistics.RANKS_FROM} such tasks.",
            ("variant", "mean rank"),
            (),
        )
    caption = (
        f"{need}, by median exact match {results.spec.extrapolation.point}; 1 is best. Friedman's "
        f"test that all are alike: p "
        f"{cells.p_value(ranks.p)}. Mean ranks less than {ranks.critical_difference:.2f} apart "
        f"are not told apart (Nemenyi, 0.05)."
    )
    notes = (
        "Tasks are no random sample and resemble one another: these p are for this list of tasks "
        "as it stands.",
    )
    return Table("Ranks over tasks", caption, ("variant", "mean rank"), tuple(rows), notes)


def budgets(results: Results) -> Table:
    """Size, steps and FLOPs of a run. Seconds are left out: they measure the load of the
    machine.
    """
    asked = [Metric(name) for name in ("seeds", "parameters", "steps", "flops")]
    header = ["variant", "finished runs", "parameters", "steps", "FLOPs"]
    rows = [
        (Cell(v.name), *(cells.measure(results, [v], m) for m in asked))
        for v in results.variants
        if not v.override
    ]
    caption = "Medians over runs. FLOPs are those of unpadded examples."
    tried = max((len(v.candidates) for v in results.variants), default=0)
    notes = (
        [
            f"Every variant was tuned with at most {tried} settings; a run of the chosen one is "
            f"counted here."
        ]
        if tried
        else []
    )
    return _table(results, "Budget of a run", caption, header, rows, notes)


def _centre(variant: Variant, length: int, offset: int, metric: str, show: str) -> Cell:
    return cells.centre([variant], lambda run: run.at(length, offset, metric), show, metric)


def _beyond(results: Results, variant: Variant, length: int, cell: Cell) -> Cell:
    """With the arrow of a number beyond its own training, where training lengths differ."""
    if (
        len(results.max_lengths) > 1
        and variant.finished
        and length > variant.max_length
        and cell.text != DASH
    ):
        return Cell(f"→{cell.text}", cell.value)
    return cell


def _chance_levels(results: Results, metric: str, empty: int) -> list[tuple[Cell, ...]]:
    rows = []
    for task in results.tasks:
        name = (
            "chance level (sees no prompt)"
            if len(results.tasks) == 1
            else f"chance level of {task} (sees no prompt)"
        )
        chance_levels = [results.chance_level(n, metric, task) for n in results.lengths]
        rows.append(
            (Cell(name), *[Cell()] * empty, *(Cell(cells.number(f), f) for f in chance_levels))
        )
    return rows


def _contrast(c: compare.Comparison, results: Results) -> tuple[Cell, ...]:
    named = c.metric.point != results.spec.extrapolation.point
    remarks = [str(c.metric.point)] if named else []
    remarks += [f"not compared: {c.reason}"] if c.reason else []
    difference = f"{cells.signed(c.difference)}{_signed_bracket(c)}"
    counts = DASH if results.has_text else f"{c.counts[0]}, {c.counts[1]}"
    return (
        Cell(f"{c.a.name} against {c.b.name}"),
        Cell(counts),
        Cell(cells.p_value(c.count_holm), c.count_holm) if c.count_decides else Cell(DASH),
        Cell(difference, c.difference),
        Cell(str(len(c.differences)), len(c.differences)),
        Cell(cells.p_value(c.holm), c.holm) if c.decides else Cell(DASH),
        Cell(cells.signed(c.correlation) if c.correlation is not None else DASH, c.correlation),
        Cell(
            cells.number(c.improvement) if not c.reason else DASH,
            None if c.reason else c.improvement,
        ),
        Cell("; ".join(remarks)),
    )


def _p_notes(found: Sequence[compare.Comparison]) -> list[str]:
    """How p values are adjusted, and which are left out because the seeds cannot decide."""
    tested = [c for c in found if c.p is not None]
    if not tested:
        return []
    counts = [
        n.count for c in tested if c.count_p is not None and not c.count_decides for n in c.counts
    ]
    pairs = [len(c.differences) for c in tested if not c.decides]
    over = f" over {len(tested)} contrasts" if len(tested) > 1 else ""
    level = f"below {attainable.LEVEL:g}{over}"
    if not any(c.count_decides or c.decides for c in tested):
        amount = (
            f"{cells.listed(counts)} a variant"
            if counts
            else f"{cells.listed(pairs, 'pair')} of runs"
        )
        return [f"{amount} cannot bring p {level}: no p is shown."]
    notes = [
        f"p: adjusted over the {len(tested)} contrasts that are compared, and no other (Holm), "
        f"each test by itself."
    ]
    if counts:
        notes.append(
            f"{cells.listed(counts)} a variant cannot bring p of *extrapolates* {level}: it is not "
            f"shown."
        )
    if pairs:
        notes.append(
            f"{cells.listed(pairs, 'pair')} of runs cannot bring p of *a − b* {level}: it is not "
            f"shown."
        )
    return notes


def _signed_bracket(c: compare.Comparison) -> str:
    return (
        ""
        if c.interval is None
        else f" [{cells.signed(c.interval.low)}, {cells.signed(c.interval.high)}]"
    )


def _pair_intervals(pairs: Sequence[int]) -> str:
    parts = (
        [f"Student's t{cells.covers('t', min(pairs))}"]
        if min(pairs) < statistics.BOOTSTRAP_FROM
        else []
    )
    parts += ["BCa bootstrap over pairs"] if max(pairs) >= statistics.BOOTSTRAP_FROM else []
    return f"{' or '.join(parts)}, of {min(pairs)} to {max(pairs)} pairs"


def _table(
    results: Results,
    title: str,
    caption: str,
    header: Sequence[str],
    rows: Sequence[tuple[Cell, ...]],
    notes: Sequence[str],
    beyond: bool = False,
) -> Table:
    text = " ".join(cell.text for row in rows for cell in row)
    signs = [words for sign, words in cells.SIGNS.items() if words and sign in text]
    if beyond and "→" not in text and any(name.startswith("→") for name in header):
        signs.append(cells.SIGNS["→"])
    if cells.REPEATED not in text and any(cells.REPEATED in name for name in header):
        signs.append(cells.SIGNS[cells.REPEATED])
    return Table(title, caption, tuple(header), tuple(rows), tuple(filter(None, [*notes, *signs])))


def _seeds(results: Results) -> list[int]:
    """Finished runs of each variant that has any."""
    return [len(v.finished) for v in results.variants if v.finished]


def _extrapolation_notes(results: Results) -> list[str]:
    counts = [
        compare.extrapolation_counts(v, results.spec.extrapolation).count for v in results.variants
    ]
    return [
        f"*extrapolates*: runs that are {results.spec.extrapolation}; of the runs with a known "
        f"outcome.",
        cells.wilson_note(counts),
    ]


def _shift(offset: int) -> str:
    return f", positions shifted by {offset}" if offset else ""
