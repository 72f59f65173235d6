"""The scorecard: one row an encoding, one column a property, in each cell a verdict and the number
behind it.
"""

import csv
import dataclasses
import io
from collections.abc import Callable, Sequence

from pe_lab.inspection import measurements
from pe_lab.inspection.measurements import Number, Numbers
from pe_lab.inspection.untrained import DRAWS, UntrainedEncoding
from pe_lab.results import formats
from pe_lab.results.formats import DASH


@dataclasses.dataclass(frozen=True)
class Property:
    """A question to every encoding.

    Attributes:
      asks: of the numbers, the first that an encoding has decides.
      passes: what the number must be for a yes.
      means: the number; why: the reason of the threshold.
    """

    name: str
    asks: tuple[str, ...]
    passes: Callable[[Number], bool]
    means: str
    why: str

    def number(self, numbers: Numbers) -> Number | None:
        return next((numbers[name] for name in self.asks if name in numbers), None)

    def verdict(self, numbers: Numbers) -> bool | None:
        """None where there is no number to judge."""
        return None if (number := self.number(numbers)) is None else bool(self.passes(number))


PROPERTIES = (
    Property(
        "unique",
        ("colliding pairs",),
        lambda n: n == 0,
        "pairs of rows that are equal, to a millionth of their size",
        "none: of such a pair it says nothing that tells one from the other",
    ),
    Property(
        "bounded",
        ("growth with length",),
        lambda n: n <= 0.2,
        "the exponent a with which the largest value grows, as length^a, up to 16 times the length",
        "at most 0.2: sixteen times longer, at most 1.75 times larger; 1 is growth in proportion",
    ),
    Property(
        "consistent",
        ("change of step with length",),
        lambda n: n <= 0.01,
        "range over lengths of the mean step between the same neighbours, over its mean",
        "at most 0.01: a step then means the same in a short example and in a long one",
    ),
    Property(
        "continuous",
        ("largest step / random pair",),
        lambda n: n < 1,
        "the largest step between neighbours over the typical distance of two rows at random",
        "less than 1: from there on a single step leads as far as a jump to anywhere",
    ),
    Property(
        "linear shift",
        ("shift residual", "change by a common shift"),
        lambda n: n <= 0.01,
        f"at the input, the squared error of one linear map, fitted elsewhere, to the codes "
        f"{measurements.SHIFT} positions on, over their "
        "variance; "
        "inside attention, what moving all positions far away changes, over the spread of the rows",
        "at most 0.01: one map then does for every place, and a distance can be read off anywhere",
    ),
    Property(
        "decays",
        ("nearer is more similar",),
        lambda n: n >= 2 / 3,
        "of pairs of keys at different distances, the share whose nearer one is more similar to "
        "the query",
        "at least 2/3: twice as often as not; 1/2 is chance",
    ),
    Property(
        "extends",
        ("unseen",),
        lambda n: n <= 0.2,
        "what the second half of an example of twice the length meets that the first could not "
        "show: positions with a coordinate out of "
        "its range or a parameter that was never trained; of a rotation, pairs that have not come "
        "round once; of a bias, the share of "
        "attention that falls there",
        "at most 0.2: four fifths of what is met was there in training",
    ),
)


@dataclasses.dataclass(frozen=True)
class Row:
    """What is known of one encoding; without numbers, the reason."""

    name: str
    kind: str | None
    numbers: Numbers
    reason: str | None = None


def row(probe: UntrainedEncoding) -> Row:
    return Row(
        probe.name, probe.kind, measurements.numbers(probe), None if probe.kind else probe.why_none
    )


def cell(row: Row, of: Property) -> str:
    verdict, number = of.verdict(row.numbers), of.number(row.numbers)
    return (
        DASH
        if verdict is None or number is None
        else f"{'yes' if verdict else 'no'} {readable(number)}"
    )


def readable(number: Number) -> str:
    """Counts whole, all else with two digits after the point."""
    return (
        f"{number:,}" if isinstance(number, int) else f"{number + 0.0:.2f}".replace("-0.00", "0.00")
    )


def table(rows: Sequence[Row], names: Sequence[str] | None = None) -> str:
    """The scorecard in Markdown, its columns aligned."""
    header = ["encoding", *(p.name for p in PROPERTIES)]
    return _aligned(
        header,
        [
            [name, *(cell(r, p) for p in PROPERTIES)]
            for name, r in zip(names or [r.name for r in rows], rows, strict=True)
        ],
    )


def reasons(rows: Sequence[Row]) -> str:
    """Why rows are empty, a line for each reason."""
    found: dict[str, list[str]] = {}
    for r in rows:
        if r.reason:
            found.setdefault(r.reason, []).append(r.name)
    return "\n".join(f"- {DASH} {', '.join(names)}: {reason}." for reason, names in found.items())


def legend() -> str:
    """What a row is, what each column asks, and where its thresholds come from."""
    rows = (
        "A row is read with fresh, untrained parameters. At the input it judges codes, one a "
        "position. Inside attention it judges what is "
        "added to the logits, one row a distance, seen from the last token: a bias and a mask as "
        "they are; where queries and keys decide, "
        f"that of {DRAWS} random ones a head, each the same at every place; *decays* is then the "
        f"mean over all directions of a query that "
        "meets itself. "
        "Positions of two axes are the same on both."
    )
    lines = [f"- *{p.name}*: {p.means}. Yes: {p.why}." for p in PROPERTIES]
    return "\n".join(
        [
            rows,
            "",
            *lines,
            f"- {DASH}: no number. In *decays*: over all queries the mean is the same at every "
            f"distance, and each query has its own.",
        ]
    )


def all_numbers(rows: Sequence[Row]) -> str:
    """Every number, a line for each, a column for each encoding."""
    names = list(dict.fromkeys(name for r in rows for name in r.numbers))
    body = [[name, *(_or_dash(r.numbers.get(name)) for r in rows)] for name in names]
    return _aligned(["number", *(r.name for r in rows)], body)


def as_csv(rows: Sequence[Row]) -> str:
    """One row an encoding: verdicts, then every number."""
    names = list(dict.fromkeys(name for r in rows for name in r.numbers))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["encoding", "kind", *(p.name for p in PROPERTIES), *names, "reason"])
    said = {True: "yes", False: "no", None: ""}
    for r in rows:
        verdicts = [said[p.verdict(r.numbers)] for p in PROPERTIES]
        writer.writerow(
            [r.name, r.kind, *verdicts, *(r.numbers.get(name) for name in names), r.reason]
        )
    return text.getvalue()


def _or_dash(number: Number | None) -> str:
    return DASH if number is None else f"{number:.4g}"


def _aligned(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rows = tuple(tuple(map(formats.Cell, row)) for row in body)
    return formats.markdown(formats.Table("", "", tuple(header), rows))
