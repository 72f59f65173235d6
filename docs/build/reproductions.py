"""Lookups of docs/reproductions.md: claims of papers, and what published runs say about them."""

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docs.build import markdown, protocols
from docs.build.published import STUDIES
from pe_lab.results import formats, frame, metrics, reproduction, statistics
from pe_lab.results.prose import listed
from pe_lab.results.reproduction import Outcome
from pe_lab.results.study import Study

# The verdict is second, where a phone shows it without scrolling.
_HEADER = ("claim", "verdict", "at", "theirs", "ours", "a − b", "solved")


def studies(root: Path) -> list[Study]:
    """Return the published studies that test claims of a paper, by name."""
    files = sorted((root / STUDIES).glob("*/study.json"))
    has_claims = ["reproduction" in json.loads(file.read_bytes())["analysis"] for file in files]
    return [frame.read(file.parent) for file in itertools.compress(files, has_claims)]


def lookups(root: Path) -> dict[str, Any]:
    outcomes_of = {study.name: (study, reproduction.outcomes(study)) for study in studies(root)}
    every = [outcome for _, outcomes in outcomes_of.values() for outcome in outcomes]
    verdicts = Counter(outcome.verdict for outcome in every)
    tested = tuple(outcomes_of)
    missing = [n for n in protocols.names(root) if not any(t.startswith(n) for t in tested)]
    return {
        "sections": "\n\n".join(_section(*each) for each in outcomes_of.values()),
        "num_claims": str(verdicts.total()),
        "num_authors_size": str(verdicts["holds at the authors' size"]),
        "num_scaled": str(verdicts["holds, scaled"]),
        "num_unsolved": str(sum(bool(o.reason) and not o.is_solved for o in every)),
        "papers": listed(dict.fromkeys(s.spec.reproduction.paper for s, _ in outcomes_of.values())),
        "num_failing": str(verdicts["does not hold"]),
        "num_undecided": str(verdicts["undecided"]),
        "confidence": f"{statistics.CONFIDENCE:.0%}".replace("%", " %"),
        "tolerance": f"{reproduction.TOLERANCE:g}",
        "fewest_seeds": str(reproduction.FEWEST_SEEDS),
        "missing": ", ".join(f"[{name}](../configs/papers/{name}.py)" for name in missing),
    }


def claims(study: Study) -> str:
    """Return the table of the claims of a study."""
    return _table(reproduction.outcomes(study))


def _table(outcomes: Sequence[Outcome]) -> str:
    return markdown.table([_HEADER, *map(_row, outcomes)])


def _section(study: Study, outcomes: Sequence[Outcome]) -> str:
    spec = study.spec.reproduction
    size = "the authors' size" if spec.is_authors_size else "a smaller size than the authors'"
    page = f"[{study.name}](../{STUDIES}/{study.name}/README.md)"
    heading = f"## {spec.paper}: {study.name}"
    configs = study.cases["config"]
    rates = sorted({config["train"]["learning_rate"] for config in configs})
    at_rates = " and ".join(map(str, rates))
    about = f"Trained at {size}, with learning rate {at_rates}; {page} has all numbers."
    return f"{heading}\n\n{about}\n\n{_table(outcomes)}"


def _row(outcome: Outcome) -> list[str]:
    claim = outcome.claim
    names, verdict, difference = f"a: {outcome.a}", f"**{outcome.verdict}**", formats.DASH
    ours = _numbers(outcome.means)
    solved = " and ".join(map(str, outcome.solved))
    if outcome.reason:
        verdict += f": {outcome.reason}"
    if claim.b:
        names += f", b: {outcome.b}"
        difference = formats.difference(outcome.difference, outcome.interval)
    else:
        ours += formats.bracket(outcome.interval)
    if claim.is_mean:
        num_solved, num_pairs = outcome.solved
        solved = f"{num_solved} of {num_pairs} pairs"
    at = str(outcome.metric.point).removeprefix("at ")
    if claim.metric:
        at = f"{metrics.BY_NAME[claim.metric].label}, {at}"
    return [
        f"{claim.text} ({names})",
        verdict,
        at,
        _numbers(claim.figures),
        ours,
        difference,
        solved,
    ]


def _numbers(values: Sequence[float | None]) -> str:
    return " and ".join(map(formats.number, values)) or formats.DASH
