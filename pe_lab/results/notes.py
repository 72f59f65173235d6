"""The signs of numbers and names in tables, and the notes that explain signs and intervals."""

from collections.abc import Sequence

from pe_lab.results import statistics
from pe_lab.results.formats import DASH, Cell, Table
from pe_lab.results.study import Study

REVEALS, SEEN, REPEATED, UNSOLVED, EDGE = "†", "‡", "§", "*", "(edge)"
EVERY_SEED_SHOWN = ", every one of which is shown"
# A table has the note of a sign if the sign occurs in its text.
SIGNS = {
    REVEALS: "†: reveals the target length to the model, by its positions or its layout; not to be "
    "ranked with the others.",
    SEEN: "‡: training showed positions as large as those of the test, though no example was as "
    "long; not to be ranked with the others. "
    "Behind a name, of the test of extrapolation; behind a number, of its own.",
    REPEATED: "§: training can draw some of the test inputs of this length.",
    DASH: f"{DASH}: no number, because the encoding or the positions end before this length, "
    f"the run did not finish, or nobody has measured it.",
    EDGE: "(edge): the smallest or largest value tried; a wider grid may do better.",
    "→": "→: beyond the training length.",
    "> ": "> N: fewer than half of the runs got there by step N.",
    "±": "±: one standard deviation over seeds, of outcomes that often fall into two groups.",
}
NOT_SOLVED = (
    "*: no seed solved the training lengths; the number is no evidence about extrapolation."
)
FIRST_STEPS = (
    "*steps to solve*, *steps to extrapolate*: Kaplan–Meier median over runs of the first point of "
    "the curve that reaches the threshold."
)


def intervals(counts: Sequence[int], show: str = "median") -> str:
    """Return the note about the intervals of centers for these numbers of seeds."""
    fewest = statistics.BOOTSTRAP_FROM
    kind = "BCa"
    centers = "Interquartile means"
    method = "BCa bootstrap of the interquartile mean"
    if show == "median":
        fewest = statistics.EXACT_FROM
        kind = "order statistics"
        centers = "Medians"
        method = "exact, from order statistics of the median"
    few = [count for count in counts if 0 < count < fewest]
    many = [count for count in counts if count >= fewest]
    if few and not many:
        # The brackets of such a table are those of counts.
        return f"{centers} have no interval with {listed(few)}{EVERY_SEED_SHOWN}."
    parts = []
    if few:
        parts.append(f"none for {listed(few)}{EVERY_SEED_SHOWN}")
    if many:
        parts.append(f"{method} for {listed(many)}{covers(kind, min(many))}")
    if not parts:
        return ""
    return f"Intervals [in brackets]: {'; '.join(parts)}."


def extrapolation(study: Study, counts: Sequence[int]) -> list[str]:
    """Return the definition of *extrapolates* and the note about its intervals.

    Args:
      counts: numbers of runs with a known outcome.
    """
    criterion = study.spec.extrapolation
    notes = [f"*extrapolates*: runs that are {criterion}; of the runs with a known outcome."]
    known = [count for count in counts if count]
    if known:
        coverage = covers("wilson", min(known))
        notes.append(f"*extrapolates*: brackets are Wilson intervals{coverage}.")
    return notes


def oracle(study: Study) -> str:
    """Return the note of numbers that were chosen on the test."""
    return (
        f"Oracle: chosen by the test itself, as in {study.spec.oracle}; for comparison "
        f"with it alone."
    )


def covers(kind: str, count: int) -> str:
    """Return the coverage of an interval in words (docs/statistics.md)."""
    coverage = statistics.coverage(kind, count)
    if coverage is None:
        return ""
    seeds, share = coverage
    percent = f"{100 * share:.0f} %"
    if kind == "wilson":  # computed exactly, for rates
        return (
            f" (with {seeds} seeds they contain the true rate in {percent} of studies on average)"
        )
    return f" (with {seeds} seeds they contain the true value in {percent} of simulated studies)"


def listed(counts: Sequence[int], unit: str = "seed") -> str:
    """Return a number of seeds or of pairs, or its range."""
    fewest, most = min(counts), max(counts)
    amount = str(most)
    if fewest != most:
        amount = f"{fewest} to {most}"
    if most != 1:
        unit += "s"
    return f"{amount} {unit}"


def table(
    title: str,
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    before: Sequence[str],
    *,
    beyond: bool = False,
) -> Table:
    """Return a table with the notes of all signs that it has.

    Args:
      before: notes that come before the notes of the signs. Empty ones are left out.
      beyond: an arrow in the header needs its note too.
    """
    text = " ".join(cell.text for row in rows for cell in row)
    headings = " ".join(header)
    signs = [sign for sign in SIGNS if sign in text]
    in_headings = ("→", REPEATED) if beyond else (REPEATED,)
    # A heading may have other signs as characters, such as the ± of a column.
    signs += [sign for sign in in_headings if sign in headings and sign not in signs]
    explanations = [SIGNS[sign] for sign in signs]
    all_notes = tuple(note for note in [*before, *explanations] if note)
    return Table(title, caption, tuple(header), tuple(map(tuple, rows)), all_notes)
