"""The declared statements of real_text: which rows gain from context, and the tiers on text.

Its picture has a panel for the rows with a high loss beyond the training length, and one with an
axis of its own for the others, whose gains are small.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from docs.build import markdown
from docs.build.published import STUDIES
from docs.build.suite_rows import FOLDERS
from experiments.declared import common, text_tiers
from pe_lab.contrib.prose.numbers import listed
from pe_lab.metrics import bits_per_byte
from pe_lab.results import frame, selection, standard_tables, summary
from pe_lab.results.formats import Cell
from pe_lab.results.plots import drawing, lines, styles
from pe_lab.results.study import Study
from pe_lab.runs.studies.analysis_spec import MetricPoint, MetricSpec

PICTURE = STUDIES / "real_text" / "context.png"
_HIGH = 2.5  # bits per byte at the longest context

# What the config expects of a row's gain at four times the training length.
EXPECTED = {
    "alibi": "gains",
    "alibi(learn_slopes=True)": "gains",
    "kerple": "gains",
    "fox": "gains",
    "rope": "loses",
    "sinusoidal": "loses",
    "nope": "loses",
}


def lookups(root: Path) -> dict[str, Any]:
    study = frame.read(root / STUDIES / "real_text")
    chosen = selection.choose(study)
    suite = common.read([str(root / folder) for folder in FOLDERS.values()])
    tier_rows, order = text_tiers.tiers(study, suite)
    gains = {name: _gain(chosen, name) for name in chosen.by_name}

    def named(sign: str) -> str:
        """The rows whose gain has this sign."""
        return listed(f"`{name}`" for name, cell in gains.items() if _sign(cell) == sign)

    return {
        "scored": str(bits_per_byte.num_scored(study.cases["config"].iloc[0])),
        "gains": markdown.table(_gain_rows(gains)),
        "named": named,
        "bits": lambda name, length: _bits(chosen, name, length),
        "gain": lambda name: gains[name].text,
        "tiers": markdown.table(
            [["row", "bits per byte", "solved runs of the suite that extrapolate"]]
            + [[f"`{name}`", bits, share.replace("+", "")] for name, bits, share in tier_rows]
        ),
        "order": order,
        "num_tasks": str(len(FOLDERS)),
        "multiple": f"{study.spec.extrapolation.point.at:g}×",
        "least_tau": f"{common.LEAST_TAU:g}",
    }


def _gain_rows(gains: dict[str, Cell]) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = [["row", "gain", "declared rule", "expected"]]
    for name, cell in gains.items():
        rows.append([f"`{name}`", cell.text, _sign(cell), EXPECTED.get(name, "–")])
    return rows


def _gain(study: Study, name: str) -> Cell:
    return _cell(study, name, MetricSpec("context_gain", show=standard_tables.center(study)))


def _bits(study: Study, name: str, length: int) -> str:
    point = MetricPoint(length=length)
    return _cell(study, name, MetricSpec(study.headline, point, standard_tables.center(study))).text


def _cell(study: Study, name: str, metric: MetricSpec) -> Cell:
    cases = study.cases[study.cases["variant"] == name]
    return summary.of_metric(study, cases, metric).of(name)


def _sign(cell: Cell) -> str:
    """Return "gains" or "loses" if the interval of a gain excludes 0."""
    if cell.interval is None:
        return "no interval"
    if cell.interval.low > 0:
        return "gains"
    return "loses" if cell.interval.high < 0 else "undecided"


def draw(root: Path) -> None:
    """Draw the loss against the context: medians with bands, and a dot for each run."""
    chosen = selection.choose(frame.read(root / STUDIES / "real_text"))
    rows = pd.concat([_losses(chosen, length) for length in chosen.lengths])
    order = list(chosen.by_name)
    last = rows[rows["length"] == max(chosen.lengths)].groupby("variant", observed=True)["value"]
    is_high = last.median() > _HIGH
    looks = styles.assign([order])
    with drawing.settings():
        figure, axes = drawing.pyplot().subplots(
            1, 2, figsize=(drawing.WIDTH, 3.2), layout="constrained"
        )
        for axis, high in zip(axes, (True, False), strict=True):
            names = [name for name in order if is_high[name] == high]
            labels = {name: styles.words(name) for name in names}
            of_names = rows[rows["variant"].isin(names)]
            lines.lines(of_names, order=names, labels=labels, looks=looks, dots=True, axes=axis)
            axis.axvline(min(chosen.lengths), color="0.4", linestyle=":", linewidth=1)
            axis.set_xscale("log", base=2)
            drawing.ticks_at(axis, chosen.lengths)
            side = "above" if high else "below"
            axis.set(title=f"{side} {_HIGH:g} bits at the end", xlabel="context (bytes)")
            axis.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2)
        axes[0].set_ylabel("bits per byte")
        drawing.save(figure, [root / PICTURE], few_colors=True)


def _losses(study: Study, length: int) -> pd.DataFrame:
    point = MetricPoint(length=length)
    values = summary.values_at(study, study.cases, study.headline, point)
    return values.assign(length=length)
