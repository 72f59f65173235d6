"""Lookups of docs/reproductions.md: claims of papers, and what published runs say about them."""

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docs.build import markdown, protocols
from pe_lab.results import formats, frame, reproduction, statistics
from pe_lab.results.reproduction import Outcome
from pe_lab.results.study import Study

STUDIES = Path("results/published")
PICTURE = Path("docs/pictures/reproductions.png")
_HEADER = ("claim", "at", "theirs", "ours", "a − b", "solved", "verdict")


def studies(root: Path) -> list[Study]:
    """Return the published studies that test claims of a paper, by name."""
    files = sorted((root / STUDIES).glob("*/study.json"))
    has_claims = ["reproduction" in json.loads(file.read_bytes())["analysis"] for file in files]
    return [frame.read(file.parent) for file in itertools.compress(files, has_claims)]


def lookups(root: Path) -> dict[str, Any]:
    outcomes_of = {study.name: (study, reproduction.outcomes(study)) for study in studies(root)}
    verdicts = Counter(o.verdict for _, outcomes in outcomes_of.values() for o in outcomes)
    tested = tuple(outcomes_of)
    missing = [n for n in protocols.names(root) if not any(t.startswith(n) for t in tested)]
    return {
        "sections": "\n\n".join(_section(*each) for each in outcomes_of.values()),
        "num_claims": str(verdicts.total()),
        "num_holding": str(verdicts["holds at the authors' size"] + verdicts["holds, scaled"]),
        "num_failing": str(verdicts["does not hold"]),
        "num_undecided": str(verdicts["undecided"]),
        "confidence": f"{statistics.CONFIDENCE:.0%}".replace("%", " %"),
        "tolerance": f"{reproduction.TOLERANCE:g}",
        "fewest_seeds": str(reproduction.FEWEST_SEEDS),
        "missing": ", ".join(f"[{name}](../configs/papers/{name}.py)" for name in missing),
    }


def _section(study: Study, outcomes: Sequence[Outcome]) -> str:
    spec = study.spec.reproduction
    size = "the authors' size" if spec.is_authors_size else "a smaller size than the authors'"
    page = f"[{study.name}](../{STUDIES}/{study.name}/README.md)"
    rows = [_HEADER, *map(_row, outcomes)]
    heading = f"## {spec.paper}: {study.name}"
    return f"{heading}\n\nTrained at {size}; {page} has all numbers.\n\n{markdown.table(rows)}"


def _row(outcome: Outcome) -> list[str]:
    names = f"a: {outcome.a}" + (f", b: {outcome.b}" if outcome.b else "")
    return [
        f"{outcome.text} ({names})",
        str(outcome.point).removeprefix("at "),
        _numbers(outcome.theirs),
        _numbers(outcome.means),
        formats.difference(outcome.difference, outcome.interval) if outcome.b else "–",
        " and ".join(map(str, outcome.solved)),
        f"**{outcome.verdict}**" + (f": {outcome.reason}" if outcome.reason else ""),
    ]


def _numbers(values: Sequence[float | None]) -> str:
    return " and ".join(map(formats.number, values)) or "–"


def draw(root: Path) -> None:
    """Draw the difference of each claim, theirs beside ours; claims without figures have ours."""
    from matplotlib.figure import Figure

    rows = []
    for study in studies(root):
        for outcome in reproduction.outcomes(study):
            # A text has bits per byte, whose differences are on another axis.
            if outcome.b and outcome.difference is not None and not study.has_text:
                text = f"{study.spec.reproduction.paper}: {outcome.text}"
                rows.append((outcome, outcome.difference, text))
    figure = Figure(figsize=(8, 1.2 + 0.4 * len(rows)), layout="constrained")
    axes = figure.subplots()
    for place, (outcome, difference, _) in enumerate(rows):
        if outcome.interval:
            axes.plot([outcome.interval.low, outcome.interval.high], [place] * 2, color="C0")
        label = "ours, with the 95 % interval" if place == 0 else None
        axes.plot(difference, place, "o", color="C0", label=label)
        if outcome.theirs:
            theirs = outcome.theirs[0] - outcome.theirs[1]
            axes.plot(theirs, place, "D", color="C1", fillstyle="none", label="theirs")
    axes.axvline(0, color="0.6", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [text for _, _, text in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("difference of exact match; right of 0 the claim holds")
    handles, labels = axes.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    figure.legend(unique.values(), unique.keys(), loc="outside upper center", ncols=2)
    figure.savefig(root / PICTURE, dpi=150, metadata={"Software": None})
