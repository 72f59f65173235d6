"""Lookups of docs/claims.md: claims of speedruns in docs/claims.toml, and our verdicts on them.

A verdict is computed from the interval of a contrast in numbers.json of a form of
configs/speedruns.py, by the rule that this config declares. A form without this file is not trained
yet.
"""

import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from configs import speedruns
from docs.build import markdown, numbers
from docs.build.numbers import Documents
from docs.build.published import STUDIES

FILE = Path("docs/claims.toml")
HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
NOT_TRAINED = "not trained yet"
# Outcomes of a difference: what a is, relative to b.
BETTER, WORSE, NONE, OPEN = "better", "worse", "none", "open"
NOT_ROBUST = "not robust"
# What a claim expects -> the outcomes with which it holds.
EXPECTED = {"better": (BETTER,), "worse": (WORSE,), "not better": (WORSE, NONE)}
# Form -> heading of its column.
HEADINGS = {
    "": "text, width 64",
    "text_wide": "text, width 128",
    "text_muon": "text, Muon",
    "copying": "copying",
    "deep": "copying, 4 layers",
    "recall": "recall",
    "flip_flop": "flip_flop",
}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a source about two rows of configs/speedruns.py.

    Attributes:
      expects: what the source says of a, relative to b; NOT_ROBUST if a gain comes and goes.
      read: what was read of the source.
      setting: sizes and budgets of the source, and its number.
      why: why no row tests the claim; "" if a and b do.
    """

    text: str
    source: str
    address: str
    read: str
    setting: str
    a: str = ""
    b: str = ""
    expects: str = ""
    why: str = ""


@dataclass(frozen=True)
class Reading:
    """A published difference a - b.

    Attributes:
      shown: its text, or the reason why a and b are not compared.
      outcome: what a is, relative to b.
    """

    label: str
    shown: str
    outcome: str


def read(root: Path) -> list[Claim]:
    """Return the claims of docs/claims.toml."""
    text = (root / FILE).read_text(encoding="utf-8")
    return [Claim(**claim) for claim in tomllib.loads(text)["claim"]]


def lookups(root: Path, documents: Documents) -> dict[str, Any]:
    """Return the table of sources, the table of verdicts and their counts.

    Raises:
      UserError: a form is published without a contrast.
    """
    claims = read(root)
    sources = [["claim", "source", "read", "sizes and budgets there", "our contrast"]]
    forms = list(speedruns.ROWS_OF_FORMS)
    verdicts = [["claim", *(HEADINGS[form] for form in forms), "sign changes"]]
    counts: Counter[str] = Counter()
    for claim in claims:
        link = f"[{claim.source}]({claim.address})"
        contrast = claim.why or f"`{claim.a}` − `{claim.b}`"
        sources.append([claim.text, link, claim.read, claim.setting, contrast])
        if claim.why:
            continue
        readings = {form: readings_of(root, documents, claim, form) for form in forms}
        cells = [cell(claim, form, readings[form]) for form in forms]
        known = [reading for part in readings.values() for reading in part or ()]
        changes = sign_changes(known)
        if claim.expects == NOT_ROBUST and known:
            counts[robustness(known)] += 1
            changes += f"; **{robustness(known)}**"
        else:
            counts.update(verdict(claim, reading) for reading in known)
        verdicts.append([f"{claim.text} ({claim.source})", *cells, changes])
    return {
        "sources": markdown.table(sources),
        "verdicts": markdown.table(verdicts),
        "num_claims": str(len(claims)),
        "num_untested": str(sum(bool(claim.why) for claim in claims)),
        "counts": counts,
        "rule": speedruns,
    }


def verdict(claim: Claim, reading: Reading) -> str:
    """Return the verdict of a difference, or its outcome if one verdict is over all of them."""
    if claim.expects == NOT_ROBUST:
        return reading.outcome
    if reading.outcome == OPEN:
        return UNDECIDED
    return HOLDS if reading.outcome in EXPECTED[claim.expects] else FAILS


def robustness(readings: Sequence[Reading]) -> str:
    """Return the verdict on a claim that a gain is not robust."""
    outcomes = [reading.outcome for reading in readings if reading.outcome != OPEN]
    if BETTER not in outcomes or len(outcomes) < 2:
        return UNDECIDED
    return HOLDS if len({*outcomes}) > 1 else FAILS


def sign_changes(readings: Sequence[Reading]) -> str:
    """Return whether decided differences of a contrast have both signs."""
    if not readings:
        return NOT_TRAINED
    signs = [reading.outcome for reading in readings if reading.outcome in (BETTER, WORSE)]
    if len(signs) < 2:
        return UNDECIDED
    return "yes" if len({*signs}) > 1 else "no"


def cell(claim: Claim, form: str, readings: Sequence[Reading] | None) -> str:
    """Return the verdicts of a form, one for each budget and point."""
    if (claim.a, claim.b) not in speedruns.contrasts(form):
        return "–"
    if readings is None:
        return NOT_TRAINED
    texts = [f"{r.label}: **{verdict(claim, r)}**, {r.shown}" for r in readings]
    return "; ".join(texts)


def readings_of(root: Path, documents: Documents, claim: Claim, form: str) -> list[Reading] | None:
    """Return the differences of a form, each a - b; None if it is not published."""
    study = f"speedruns_{form}".rstrip("_")
    names = documents(study)["study"]
    # A study whose first page is being rendered has numbers before it has the file.
    is_known = not isinstance(names, numbers.Citation)
    is_known |= (root / STUDIES / study / numbers.FILE).exists()
    if not is_known or (claim.a, claim.b) not in speedruns.contrasts(form):
        return None
    readings = []
    for steps in speedruns.budgets(form):
        a, b = (variant(row, form, steps) for row in (claim.a, claim.b))
        for point in speedruns.points(form):
            label = f"{steps:,} steps, {point}×"
            readings.append(reading(label, names.contrast(a, b, point), form))
    return readings


def reading(label: str, contrast: Any, form: str) -> Reading:
    """Judge a contrast of the numbers of a form by the rule that configs/speedruns.py declares."""
    shown, interval = contrast["text"], contrast["interval"]
    if interval is None:
        return Reading(label, shown, OPEN)
    low, high = interval
    is_text = form in speedruns.TEXTS
    if low > 0 or high < 0:
        return Reading(label, shown, BETTER if (low > 0) != is_text else WORSE)  # fewer bits
    if not is_text and (end := speedruns.shared_end(*contrast["means"])):
        return Reading(label, f"{shown}, both at the {end}", OPEN)
    margin = speedruns.MARGIN_OF_TEXT if is_text else speedruns.MARGIN
    return Reading(label, shown, NONE if max(-low, high) <= margin else OPEN)


def variant(row: str, form: str, steps: int) -> str:
    """Return the name of a row after a budget in the study of a form."""
    return f"{row} · {steps:,} steps" if len(speedruns.budgets(form)) > 1 else row
