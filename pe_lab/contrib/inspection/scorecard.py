"""The scorecard: one row per encoding, one column per property, with a verdict and its number."""

import csv
import dataclasses
import io
import itertools
from collections.abc import Callable, Sequence

from pe_lab.contrib.inspection import measurements
from pe_lab.contrib.inspection.draws import DRAWS
from pe_lab.contrib.inspection.measurements import Number, Numbers
from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from pe_lab.results import formats
from pe_lab.results.formats import DASH


@dataclasses.dataclass(frozen=True)
class Property:
    """A question that the scorecard asks of every encoding.

    Attributes:
      numbers: names of measured numbers; the first that an encoding has decides.
      passes: the condition for a yes.
      means: explanation of the number.
      why: reason of the threshold.
    """

    name: str
    numbers: tuple[str, ...]
    passes: Callable[[Number], bool]
    means: str
    why: str

    def number(self, numbers: Numbers) -> Number | None:
        for name in self.numbers:
            if name in numbers:
                return numbers[name]
        return None

    def verdict(self, numbers: Numbers) -> bool | None:
        """Whether the property holds; None without a number."""
        number = self.number(numbers)
        if number is None:
            return None
        return bool(self.passes(number))


PROPERTIES = (
    Property(
        "unique",
        ("colliding pairs",),
        lambda n: n == 0,
        "number of pairs of rows that are equal, up to a millionth of their size",
        "0, since the encoding cannot tell the two of such a pair apart",
    ),
    Property(
        "bounded",
        ("growth with length",),
        lambda n: n <= 0.2,
        "exponent a of the largest value's growth, length^a, up to 16 times the length",
        "at most 0.2, which is a factor of 1.74 at 16 times the length; 1 is proportional growth",
    ),
    Property(
        "consistent",
        ("change of step with length",),
        lambda n: n <= 0.01,
        "dependence of the mean step between the same neighbors on the length of the example: its "
        "range over lengths, divided by its mean",
        "at most 0.01, so that a step means the same in short and in long examples",
    ),
    Property(
        "continuous",
        ("largest step / random pair",),
        lambda n: n < 1,
        "the largest step between neighbors, relative to the typical distance of two random rows",
        "less than 1, so that no step leads as far as a jump to a random position",
    ),
    Property(
        "linear shift",
        ("shift residual", "change by a common shift"),
        lambda n: n <= 0.01,
        f"at the input, a linear map (affine or orthogonal) is fitted from each embedding to the "
        f"one {measurements.SHIFT} positions later, and the number is its squared error on "
        f"held-out positions, relative to their variance; in attention, the change of the rows "
        f"when all positions move far away, relative to their spread",
        "at most 0.01, so that a distance can be read in the same way at every position",
    ),
    Property(
        "decays",
        ("nearer is more similar",),
        lambda n: n >= 2 / 3,
        "share of pairs of keys at different distances whose nearer key is more similar to the "
        "query",
        "at least 2/3, which is twice as often as not; chance is 1/2",
    ),
    Property(
        "extends",
        ("unseen",),
        lambda n: n <= 0.2,
        "share of the second half of an example of twice the length that training does not cover; "
        "at the input, positions with an out-of-range coordinate or an untrained parameter; for a "
        "rotation, the share of channel pairs that do not complete a period; for a bias, the share "
        "of attention at such distances",
        "at most 0.2, so that four fifths occur in training",
    ),
)


@dataclasses.dataclass(frozen=True)
class Row:
    """The measurements of one encoding, or the reason of their absence."""

    name: str
    kind: str | None
    numbers: Numbers
    reason: str | None = None


def row(encoding: UntrainedEncoding) -> Row:
    reason = None if encoding.kind else encoding.why_none
    return Row(encoding.name, encoding.kind, measurements.measure(encoding), reason)


def cell(row: Row, column: Property) -> str:
    number = column.number(row.numbers)
    if number is None:
        return DASH
    word = "yes" if column.verdict(row.numbers) else "no"
    return f"{word} {readable(number)}"


def readable(number: Number) -> str:
    """Counts as whole numbers, others with two decimals."""
    if isinstance(number, int):
        return f"{number:,}"
    # The sign of a negative zero would look like a negative number.
    return f"{number + 0.0:.2f}".replace("-0.00", "0.00")


def table(rows: Sequence[Row], names: Sequence[str] | None = None) -> str:
    """The scorecard in Markdown, with aligned columns."""
    header = ["encoding", *(p.name for p in PROPERTIES)]
    if names is None:
        names = [r.name for r in rows]
    body = []
    for name, r in zip(names, rows, strict=True):
        body.append([name, *(cell(r, p) for p in PROPERTIES)])
    return markdown_table(header, body)


def reasons(rows: Sequence[Row]) -> str:
    """Explanation of empty rows, a line for each reason."""
    names: dict[str, list[str]] = {}
    for r in rows:
        if r.reason:
            names.setdefault(r.reason, []).append(r.name)
    return "\n".join(f"- {DASH} {', '.join(same)}: {reason}." for reason, same in names.items())


def legend() -> str:
    """Explanation of the rows, the columns and their thresholds."""
    rows = (
        f"All parameters are untrained. For an encoding at the input the properties describe "
        f"its embeddings, one for each position. For an encoding in attention they describe "
        f"its effect on the logits of the last token, one row for each distance. For a bias or a "
        f"mask, the rows are its values. For other encodings, the rows are the logits of {DRAWS} "
        f"random query–key pairs per head, with the same query and key at every position. For "
        f"these, *decays* is the mean over all query directions, with the key equal to the query. "
        f"With two axes, both have the same positions."
    )
    lines = [f"- *{p.name}*: {p.means}. Yes: {p.why}." for p in PROPERTIES]
    dash = (
        f"- {DASH}: no number. In *decays* a dash means that the mean over all queries is the same "
        f"at every distance, although single queries tell distances apart."
    )
    return "\n".join([rows, "", *lines, dash])


def all_numbers(rows: Sequence[Row]) -> str:
    """All numbers in Markdown, a line for each and a column for each encoding."""
    body = []
    for name in _names_of_numbers(rows):
        numbers = [r.numbers.get(name) for r in rows]
        body.append([name, *(DASH if n is None else f"{n:.4g}" for n in numbers)])
    return markdown_table(["number", *(r.name for r in rows)], body)


def _names_of_numbers(rows: Sequence[Row]) -> list[str]:
    # Encodings of different kinds have different numbers.
    return list(dict.fromkeys(itertools.chain(*(r.numbers for r in rows))))


def as_csv(rows: Sequence[Row]) -> str:
    """One row per encoding: the verdicts, then all numbers."""
    names = _names_of_numbers(rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["encoding", "kind", *(p.name for p in PROPERTIES), *names, "reason"])
    words = {True: "yes", False: "no", None: ""}
    for r in rows:
        verdicts = [words[p.verdict(r.numbers)] for p in PROPERTIES]
        numbers = [r.numbers.get(name) for name in names]
        writer.writerow([r.name, r.kind, *verdicts, *numbers, r.reason])
    return text.getvalue()


def markdown_table(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rows = tuple(tuple(map(formats.Cell, line)) for line in body)
    return formats.markdown(formats.Table("", "", tuple(header), rows), has_links=True)
