"""The analysis spec of a study: its comparisons and tables, stated before any run.

A config states it in `analysis()`, as plain values:

    def analysis():
        return dict(
            question="Which encodings still copy at twice the training length?",
            # A run extrapolates if it is solved and has this exact match at twice the length.
            extrapolation=dict(at=2, threshold=0.9),
            contrasts=(
                ("rope", "alibi"),
                ("contiguous", "shifted"),
                # An equivalence: do they differ by less than the margin?
                dict(a="sinusoidal", b="learned", at=1, margin=0.05),
                # Compared although only shifted positions cover the test positions in training.
                dict(a="learned · shifted", b="nope", seen_positions=True),
            ),
            # Axes that validation chooses. They are not compared.
            tuned=("train.learning_rate",),
            tables=(
                dict(
                    rows="model.encodings",
                    columns="positions",
                    metric=dict(name="exact_match", at=2),
                ),
            ),
            # Figures of a paper: variant, length or range of lengths, value.
            literature=(
                dict(
                    source="Doe 2024, table 2",
                    metric="exact_match",
                    figures=(("rope", 32, 0.41), ("rope", (17, 32), 0.62)),
                ),
            ),
            # What a paper claims about them; contrib/papers has the rule of verdicts.
            reproduction=dict(
                paper="Doe 2024",
                is_authors_size=False,
                claims=(
                    dict(text="RoPE extends further than ALiBi.", a="rope", b="alibi", at=2,
                         figures=(0.41, 0.12)),
                ),
            ),
        )

`read_analysis_spec.from_dict` checks the values and returns an `AnalysisSpec`. The sweep writes
them into study.json, where the analysis reads them. They change nothing that is trained.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from pe_lab.runs.settings.declarations import check_keys

# How a metric is summarized over seeds. "best" is the best on the test itself, of all settings and
# the seeds that all of them have. It exists for comparison with papers that did this.
SUMMARIES = ("median", "mean", "iqm", "seeds", "best")
# What a table can show in addition to the axes of the sweep.
DIMENSIONS = ("variant", "length", "offset", "evaluated with")
AS_TRAINED = "as trained"  # the label of an evaluation without overrides
SEPARATOR = " · "  # between the labels in the name of a variant
SEED_AXES = ("seed", "data_seed")  # on which the runs of one variant differ


@dataclass(frozen=True)
class MetricPoint:
    """Length and offset at which a metric is read. At most one of the first three is set."""

    at: int | float | None = None  # a multiple of the training length
    length: int | None = None
    lengths: tuple[int, int] | None = None  # first and last of a range, which is averaged
    offset: int = 0  # added to every position

    @property
    def has_length(self) -> bool:
        """Whether a length is set. An offset alone is not enough to read a metric by length."""
        return (self.at, self.length, self.lengths) != (None, None, None)

    def length_for(self, max_length: int) -> int | None:
        """Return the length for a run that was trained up to `max_length`.

        None for a range, and where the multiple of the training length is not a whole number.
        """
        if self.length is not None or self.at is None:
            return self.length
        exact = self.at * max_length
        nearest = round(exact)
        return nearest if abs(exact - nearest) < 1e-9 else None

    def __str__(self) -> str:
        parts = []
        if self.at is not None:
            parts.append(f"at {self.at:g}× the training length")
        if self.length is not None:
            parts.append(f"at length {self.length}")
        if self.lengths is not None:
            first, last = self.lengths
            parts.append(f"mean over lengths {first}..{last}")
        if self.offset:
            parts.append(f"positions shifted by {self.offset}")
        return ", ".join(parts)


@dataclass(frozen=True)
class MetricSpec:
    """One metric of a table, the point where it is read, and its summary over seeds."""

    name: str  # a file of pe_lab/metrics
    point: MetricPoint = MetricPoint()
    show: str = "median"  # one of SUMMARIES
    label: str = ""  # heading of its column; "" for one made from the name

    def __post_init__(self) -> None:
        check_keys("show of a metric", [self.show], SUMMARIES)


@dataclass(frozen=True)
class Extrapolation:
    """Criterion of extrapolation: a run is solved and its exact match at a point is high enough."""

    point: MetricPoint = MetricPoint(at=2.0)
    threshold: float = 0.9

    def __str__(self) -> str:
        return f"solved, with an exact match of at least {self.threshold:g} {self.point}"


@dataclass(frozen=True)
class Contrast:
    """Two variants to compare, by their names.

    Two labels name every pair of variants with these labels that agree in all other labels.
    """

    a: str
    b: str
    point: MetricPoint | None = None  # None: the point of extrapolation
    # With a margin, the contrast is an equivalence test: do the two differ by less?
    margin: float | None = None
    # The claim is about positions of the test that one of them sees in training: compare them.
    seen_positions: bool = False


@dataclass(frozen=True)
class Figure:
    """A number from the literature: a metric of a variant at a point."""

    variant: str  # the name of one of our variants, or labels that only this one has
    metric: MetricSpec
    value: float


@dataclass(frozen=True)
class Literature:
    """Figures from one source, shown next to our runs, which may differ from theirs."""

    source: str  # publication, and the place in it or in the authors' repository
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Claim:
    """A claim of a paper: a is better than b at a point, or a has a figure there.

    Two labels name every pair of variants, as in a contrast. Each pair is a claim of its own, or
    the claim is about their mean. A spec with several multiples, at=(1.25, 2), is read as a claim
    for each.
    """

    text: str
    a: str
    b: str = ""  # "" if the claim is the figure of a alone
    point: MetricPoint | None = None  # None: the point of extrapolation
    metric: str = ""  # a file of pe_lab/metrics; "" for the main metric of the study
    is_mean: bool = False  # about the mean over all pairs, such as one pair for each task
    # The figure is a mean over the first seeds that solve the training lengths, this many; 0: all.
    first_solved: int = 0
    figures: tuple[float, ...] = ()  # the paper's numbers of a and b; () if none was read


@dataclass(frozen=True)
class Reproduction:
    """The claims of a paper that a study tests."""

    paper: str = ""
    is_authors_size: bool = False  # models, lengths and number of steps match the paper
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True)
class TableSpec:
    """A table of the study. Its dimensions are axes of the sweep or names in `DIMENSIONS`."""

    title: str = ""
    rows: tuple[str, ...] = ("variant",)
    columns: tuple[str, ...] = ("length",)
    each: tuple[str, ...] = ()  # dimensions with one table for each value
    metric: MetricSpec = MetricSpec("exact_match")
    measures: tuple[MetricSpec, ...] = ()  # one column for each metric, in place of `columns`
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # labels shown, by dimension
    note: str = ""

    @property
    def metrics(self) -> tuple[MetricSpec, ...]:
        """The metrics that the table shows."""
        return self.measures or (self.metric,)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions of rows, columns and single tables."""
        return (*self.rows, *self.columns, *self.each)


@dataclass(frozen=True)
class AnalysisSpec:
    """Question, comparisons and tables of a study. A study that states nothing has the defaults."""

    question: str = ""
    contrasts: tuple[Contrast, ...] = ()
    extrapolation: Extrapolation = Extrapolation()
    tuned: tuple[str, ...] = ()  # axes that validation chooses
    # The paper that chose seed and setting on the test itself. Required by show="best".
    oracle: str = ""
    tables: tuple[TableSpec, ...] = ()
    literature: tuple[Literature, ...] = ()
    reproduction: Reproduction = Reproduction()


def parts(name: str) -> list[str]:
    """Return the labels in the name of a variant.

    "rope · contiguous, evaluated with linear" has the labels "rope", "contiguous" and "linear".
    """
    trained, _, override = name.partition(", evaluated with ")
    labels = trained.split(SEPARATOR)
    if override:
        labels.append(override)
    return labels


def pairs(labels_of: Mapping[str, Mapping[str, str]], contrast: Contrast) -> list[tuple[str, str]]:
    """Return the names of the variants that a contrast compares.

    They are the two with these names, or all pairs with these labels that agree in all others.

    Args:
      labels_of: labels by axis of each variant, by its name.
    """
    # The names of two variants mean these two, even if others have all of their labels, too.
    if contrast.a in labels_of and contrast.b in labels_of:
        return [(contrast.a, contrast.b)]
    of_a = [name for name, labels in labels_of.items() if has_labels(labels, contrast.a)]
    of_b = [name for name, labels in labels_of.items() if has_labels(labels, contrast.b)]
    matching = []
    for a, b in itertools.product(of_a, of_b):
        if a != b and _are_pair(labels_of[a], labels_of[b], contrast):
            matching.append((a, b))
    return matching


def has_labels(labels: Mapping[str, str], name: str) -> bool:
    """Return whether a variant has all labels of a name."""
    return set(parts(name)).issubset(labels.values())


def _are_pair(a: Mapping[str, str], b: Mapping[str, str], contrast: Contrast) -> bool:
    """Return whether variants with the labels of a contrast are equal on all other axes."""
    of_a, of_b = parts(contrast.a), parts(contrast.b)
    named = {axis for axis, label in a.items() if label in of_a}
    named |= {axis for axis, label in b.items() if label in of_b}
    others = (a.keys() | b.keys()) - named
    return all(a.get(axis) == b.get(axis) for axis in others)
