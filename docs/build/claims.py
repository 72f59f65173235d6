"""Lookups of docs/claims.md: claims of speedruns in docs/claims.toml, and our verdicts on them.

A verdict is computed from the interval of a contrast in numbers.json of a form of
configs/speedruns.py, by the rule that this config declares. A form without this file is not trained
yet.
"""

import itertools
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
# Form -> what it trains.
HEADINGS = {
    "": "text, width 64",
    "text_wide": "text, width 128",
    "text_muon": "text, Muon",
    "copying": "copying",
    "deep": "copying, 4 layers",
    "recall": "recall",
    "flip_flop": "flip_flop",
}
COLUMNS = ("text, training length", "text, longer", "tasks, training length", "tasks, longer")
POINTS = sorted({*speedruns.POINTS, *speedruns.POINTS_OF_TEXT})


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

    @property
    def contrast(self) -> str:
        return f"`{self.a}` − `{self.b}`"


@dataclass(frozen=True)
class Reading:
    """A published difference a - b.

    Attributes:
      point: the multiple of the training length.
      shown: its text, or the reason why a and b are not compared.
      outcome: what a is, relative to b.
    """

    form: str
    steps: int
    point: int | float
    shown: str
    outcome: str


def read(root: Path) -> list[Claim]:
    """Return the claims of docs/claims.toml."""
    text = (root / FILE).read_text(encoding="utf-8")
    return [Claim(**claim) for claim in tomllib.loads(text)["claim"]]


def lookups(root: Path, documents: Documents) -> dict[str, Any]:
    """Return the claims, the tables of verdicts and differences, and the counts of verdicts.

    Raises:
      UserError: a form is published without a contrast.
    """
    claims = read(root)
    verdicts = [["claim", *COLUMNS, "sign changes"]]
    differences: dict[str, list[list[str]]] = {}
    counts: Counter[str] = Counter()
    for claim in claims:
        if claim.why:
            continue
        readings = readings_of(root, documents, claim)
        changes = sign_changes(readings)
        if claim.expects == NOT_ROBUST and readings:
            counts[robustness(readings)] += 1
            changes += f"; **{robustness(readings)}**"
        else:
            counts.update(verdict(claim, reading) for reading in readings)
        cells = [cell(claim, readings, column) for column in COLUMNS]
        verdicts.append([f"{claim.text} ({claim.source})", *cells, changes])
        differences[claim.contrast] = rows_of(claim.contrast, readings)
    header = ["difference", "trained on", "steps", *(f"{point:g}×" for point in POINTS)]
    return {
        "verdicts": markdown.table(verdicts),
        "differences": markdown.table([header, *itertools.chain(*differences.values())]),
        "claims": claims,
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


def cell(claim: Claim, readings: Sequence[Reading], column: str) -> str:
    """Return the number of each verdict in one of COLUMNS."""
    verdicts: Counter[str] = Counter()
    for reading in readings:
        trained_on = "text" if reading.form in speedruns.TEXTS else "tasks"
        if column == f"{trained_on}, {'longer' if reading.point > 1 else 'training length'}":
            verdicts[verdict(claim, reading)] += 1
    return ", ".join(f"{word} ({count})" for word, count in sorted(verdicts.items())) or "–"


def rows_of(contrast: str, readings: Sequence[Reading]) -> list[list[str]]:
    """Return the rows of a contrast, one a form and budget, with a column for each point."""
    rows: dict[tuple[str, str], dict[int | float, str]] = {}
    for reading in readings:
        row = HEADINGS[reading.form], f"{reading.steps:,}"
        cells = rows.setdefault(row, dict.fromkeys(POINTS, "–"))
        texts = {OPEN: reading.shown, NONE: f"{reading.shown}, none"}
        cells[reading.point] = texts.get(reading.outcome, f"**{reading.shown}**")
    return [[contrast, *row, *cells.values()] for row, cells in rows.items()]


def readings_of(root: Path, documents: Documents, claim: Claim) -> list[Reading]:
    """Return the differences a - b of all published forms."""
    readings = []
    for form in speedruns.ROWS_OF_FORMS:
        study = f"speedruns_{form}".rstrip("_")
        names = documents(study)["study"]
        # A study whose first page is being rendered has numbers before it has the file.
        is_known = not isinstance(names, numbers.Citation)
        is_known |= (root / STUDIES / study / numbers.FILE).exists()
        if not is_known or (claim.a, claim.b) not in speedruns.contrasts(form):
            continue
        for steps in speedruns.budgets(form):
            a, b = (variant(row, form, steps) for row in (claim.a, claim.b))
            for point in speedruns.points(form):
                contrast = names.contrast(a, b, point)
                readings.append(Reading(form, steps, point, *judged(contrast, form)))
    return readings


def judged(contrast: Any, form: str) -> tuple[str, str]:
    """Return the text and the outcome of a contrast, by the rule that the config declares."""
    shown, interval = contrast["text"], contrast["interval"]
    if interval is None:
        return shown, OPEN
    low, high = interval
    is_text = form in speedruns.TEXTS
    if low > 0 or high < 0:
        return shown, BETTER if (low > 0) != is_text else WORSE  # fewer bits
    if not is_text and (end := speedruns.shared_end(*contrast["means"])):
        return f"{shown}, both at the {end}", OPEN
    margin = speedruns.MARGIN_OF_TEXT if is_text else speedruns.MARGIN
    return shown, NONE if max(-low, high) <= margin else OPEN


def variant(row: str, form: str, steps: int) -> str:
    """Return the name of a row after a budget in the study of a form."""
    return f"{row} · {steps:,} steps" if len(speedruns.budgets(form)) > 1 else row
