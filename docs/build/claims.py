"""Lookups of docs/claims.md: claims of speedruns in docs/claims.toml, and our verdicts on them.

A verdict is computed from a difference in numbers.json of a form of configs/speedruns.py, by the
rule that this config declares. A form without this file is not trained yet.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from configs import speedruns
from docs.build import markdown, numbers
from docs.build.published import STUDIES

FILE = Path("docs/claims.toml")
HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
NOT_TRAINED, NOT_TESTED = "not trained yet", "not tested"
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
_BRACKETS = re.compile(r" ?\[.*\]")
Sign = Literal[-1, 0, 1]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a source about two rows of configs/speedruns.py.

    Attributes:
      expects: what the source says of a, relative to b.
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
    expects: Literal["better", "not better", "worse", ""] = ""
    why: str = ""


@dataclass(frozen=True)
class Reading:
    """A published difference a - b, above 0 if a is better.

    Attributes:
      shown: its text, as the page of its study has it.
      interval: (low, high); None if the study does not compare a and b.
      margin: the largest difference that is none.
    """

    label: str
    shown: str
    interval: tuple[float, float] | None
    margin: float

    @property
    def sign(self) -> Sign:
        """The sign of a decided difference; 0 for all others."""
        if self.interval is None or self.interval[0] <= 0 <= self.interval[1]:
            return 0
        return 1 if self.interval[0] > 0 else -1

    @property
    def is_none(self) -> bool:
        if self.interval is None:
            return False
        return -self.margin <= self.interval[0] and self.interval[1] <= self.margin


def read(root: Path) -> list[Claim]:
    """Return the claims of docs/claims.toml."""
    text = (root / FILE).read_text(encoding="utf-8")
    return [Claim(**claim) for claim in tomllib.loads(text)["claim"]]


def lookups(root: Path) -> dict[str, Any]:
    """Return the table of sources, the table of verdicts and their counts."""
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
            counts[NOT_TESTED] += 1
            continue
        readings = {form: readings_of(root, claim, form) for form in forms}
        cells = [cell(claim, form, readings[form]) for form in forms]
        known = [reading for part in readings.values() for reading in part or ()]
        counts.update(verdict(claim, reading) for reading in known)
        verdicts.append([f"{claim.text} ({claim.source})", *cells, sign_changes(known)])
    return {
        "sources": markdown.table(sources),
        "verdicts": markdown.table(verdicts),
        "num_claims": str(len(claims)),
        "num_untested": str(counts[NOT_TESTED]),
        "num_holding": str(counts[HOLDS]),
        "num_failing": str(counts[FAILS]),
        "num_undecided": str(counts[UNDECIDED]),
        "seeds": str(speedruns.SEEDS),
        "margin": f"{speedruns.MARGIN:g}",
        "margin_of_text": f"{speedruns.MARGIN_OF_TEXT:g}",
    }


def verdict(claim: Claim, reading: Reading) -> str:
    """Return the verdict of the rule that configs/speedruns.py declares."""
    expected = 1 if claim.expects == "better" else -1
    if reading.sign:
        return HOLDS if reading.sign == expected else FAILS
    if reading.is_none:
        return HOLDS if claim.expects == "not better" else FAILS
    return UNDECIDED


def sign_changes(readings: Sequence[Reading]) -> str:
    """Return whether decided differences of a contrast have both signs."""
    if not readings:
        return NOT_TRAINED
    signs = {reading.sign for reading in readings}
    return "yes" if {-1, 1} <= signs else "no"


def cell(claim: Claim, form: str, readings: Sequence[Reading] | None) -> str:
    """Return the verdicts of a form, one for each budget and point."""
    if (claim.a, claim.b) not in speedruns.contrasts(form):
        return "–"
    if readings is None:
        return NOT_TRAINED
    texts = [f"{r.label}: **{verdict(claim, r)}**, {r.shown}" for r in readings]
    return "; ".join(texts)


def readings_of(root: Path, claim: Claim, form: str) -> list[Reading] | None:
    """Return the differences of a form, each a - b; None if it is not published.

    Raises:
      UserError: numbers.json of the form lacks a difference.
    """
    study = f"speedruns_{form}".rstrip("_")
    file = root / STUDIES / study / numbers.FILE
    if not file.exists() or (claim.a, claim.b) not in speedruns.contrasts(form):
        return None
    entries = json.loads(file.read_text(encoding="utf-8"))["numbers"]
    readings = []
    for steps in speedruns.budgets(form):
        a, b = (variant(row, form, steps) for row in (claim.a, claim.b))
        for point in speedruns.points(form):
            name = numbers.called("study.difference", (a, b, point), {})
            if name not in entries:
                raise numbers.missing(study, name)
            label = f"{steps:,} steps, {point}×"
            readings.append(_reading(label, entries[name], is_text=form in speedruns.TEXTS))
    return readings


def variant(row: str, form: str, steps: int) -> str:
    """Return the name of a row after a budget in the study of a form."""
    return f"{row} · {steps:,} steps" if len(speedruns.budgets(form)) > 1 else row


def _reading(label: str, entry: Mapping[str, Any], *, is_text: bool) -> Reading:
    margin = speedruns.MARGIN_OF_TEXT if is_text else speedruns.MARGIN
    interval = entry.get("interval")
    if interval is not None:
        low, high = interval
        interval = (-high, -low) if is_text else (low, high)  # fewer bits are better
    shown = entry["shown"] if interval else _BRACKETS.sub("", entry["shown"])
    return Reading(label, shown, interval, margin)
