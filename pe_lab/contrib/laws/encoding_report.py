"""The laws on one encoding, for example your own, with a reason for each law that does not hold.

One error can break several laws: an encoding that reads later tokens also reads padding and other
segments. So the laws of five common causes are checked in the order of CAUSES, and the first one
that does not hold names the cause.
"""

import dataclasses
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np

from pe_lab.contrib.laws import encoding_laws as laws
from pe_lab.contrib.laws import models, report_lines
from pe_lab.contrib.laws.models import ARCHITECTURES, DifferenceError
from pe_lab.contrib.laws.subjects import LENGTH, Subject
from pe_lab.runs.errors import UserError, one_line

ONE_LAYER = (("num_layers", 1),)
QUICK = (
    "shape_is_kept_and_finite",
    "positions_are_read_not_indices",
    "shift_is_ignored_if_relative",
    "future_does_not_leak",
    "padding_does_not_reach_valid_tokens",
    "packed_segments_equal_separate_ones",
    "gradients_are_finite_and_reach_every_parameter",
    "decoding_equals_the_full_forward",
)


@dataclasses.dataclass(frozen=True)
class Cause:
    """A common error.

    Attributes:
      law: the law that it breaks if no earlier cause does.
      consequences: other laws that it can break.
    """

    law: str
    sentence: str
    consequences: tuple[str, ...] = ()


_GRADIENTS = "gradients_are_finite_and_reach_every_parameter"
_NOT_FINITE = (
    "Likely cause: keys that the mask hides, such as later tokens. The formula is also computed at "
    "their distances, and if it is not finite there, the gradient is 0 times infinity. Look for "
    "log, sqrt, a power or a division of a distance that can be 0 or negative, and use jnp.where "
    "inside it: jnp.log(jnp.where(distance > 0, distance, 1))."
)
_PACKED = "packed_segments_equal_separate_ones"
_CACHED = ("prefill_equals_the_full_forward", "decoding_equals_the_full_forward")
_SHIFTED = "shift_is_ignored_if_relative"
CAUSES = (
    Cause(
        "future_does_not_leak",
        "looks at the future: a token depends on later tokens. A query may read only keys "
        "with K.slots <= Q.slots, which are those of `mask` in transform_logits and normalize.",
        ("padding_does_not_reach_valid_tokens", _PACKED, *_CACHED),
    ),
    Cause(
        "padding_does_not_reach_valid_tokens",
        "reads padding, for example in a mean over all tokens or in the length of an array. "
        "`mask` in transform_logits and normalize has the keys that count, and K.lengths their "
        "number.",
        (_PACKED, *_CACHED),
    ),
    Cause(
        "decoding_equals_the_full_forward",
        "counts queries from 0: with a cache, the first query is not the first token. Use "
        "Q.positions or Q.slots, never jnp.arange.",
        (_PACKED, _SHIFTED, "positions_are_read_not_indices"),
    ),
    Cause(
        _PACKED,
        "ignores segments: tokens of other examples in the same context have an effect. "
        "`mask` in transform_logits and normalize leaves them out.",
    ),
    Cause(
        _SHIFTED,
        "is absolute, and its requirements declare relative=True. Use only differences of "
        "positions, or declare relative=False.",
        ("between_two_streams_both_positions_are_read",),
    ),
)


@dataclasses.dataclass
class Checks:
    """The laws of an encoding in one architecture, each checked once."""

    subject: Subject
    errors: dict[str, Exception | None] = dataclasses.field(default_factory=dict)

    def error(self, law: str) -> Exception | None:
        """The error of a law that does not hold, or None."""
        if law not in self.errors:
            try:
                laws.LAWS[law](self.subject)
                self.errors[law] = None
            except Exception as error:  # the class may raise anything
                self.errors[law] = error
        return self.errors[law]

    def cause(self) -> Cause | None:
        """The first cause whose law does not hold, or None."""
        for cause in CAUSES:
            is_defined = cause.law in laws.laws_of(self.subject.architecture)
            if is_defined and isinstance(self.error(cause.law), AssertionError):
                # A law of relativity can also fail because nothing changes with a shift.
                is_other = cause.law == _SHIFTED and not self.subject.requirements.relative
                return None if is_other else cause
        return None


def check(
    spec: dict[str, Any],
    *,
    only: str | None = None,
    quick: bool = False,
    keep_going: bool = False,
    verbose: bool = False,
) -> Iterator[str]:
    """Check the laws, and yield a line for each one and lines for each that does not hold.

    Args:
      only: a law; None: all laws.
      quick: a few laws, in the first architecture that the encoding is defined for.
      keep_going: do not stop at the first law that does not hold.
      verbose: also yield the arrays and the traceback.
    """
    # Arguments may restrict where the class is defined.
    of_class = laws.requirements(spec["name"])
    built_in = next(name for name in ARCHITECTURES if laws.acts_in(of_class, name))
    needs = Subject(spec, built_in).requirements
    architectures = [name for name in ARCHITECTURES if laws.acts_in(needs, name)]
    # Without positions, one layer sees only the set of earlier tokens. Two layers see their order.
    changes = ONE_LAYER if needs.reads_positions else ()
    all_checks = [Checks(Subject(spec, architecture, changes)) for architecture in architectures]
    num_held = num_broken = 0
    for checks in all_checks[:1] if quick else all_checks:
        architecture = checks.subject.architecture
        for law in _chosen(architecture, only, quick):
            error = checks.error(law)
            yield f"{'ok   ' if error is None else 'FAILS'}  {law}  ({architecture})"
            if error is None:
                num_held += 1
                continue
            num_broken += 1
            yield from _reasons(checks, law, all_checks[0], verbose)
            if not keep_going:
                yield report_lines.stopped(only)
                return
    if num_held + num_broken == 0:
        raise UserError(f"{only} is no law of {' or '.join(architectures)}, for which it is made.")
    yield report_lines.total(num_held, num_broken)


def _chosen(architecture: str, only: str | None, quick: bool) -> list[str]:
    names = [only] if only else QUICK if quick else laws.LAWS
    return [law for law in laws.laws_of(architecture) if law in names]


def _reasons(checks: Checks, law: str, first: Checks, verbose: bool) -> list[str]:
    """What a law demands, where it does not hold, and which common cause it looks like.

    Args:
      first: of the first architecture, a decoder if possible, where most causes can be told apart.
    """
    error = checks.errors[law]
    assert error is not None
    cause = first.cause() or checks.cause() if law in _of_causes() else None
    lines = [report_lines.demand(laws.LAWS[law]), *_where(checks.subject, law, error)]
    if cause is not None and law in cause.consequences:
        lines.append(f"It can be a consequence: {cause.law} does not hold either.")
    if cause is not None and law in (cause.law, *cause.consequences):
        lines.append(f"Likely cause: the encoding {cause.sentence}")
    if law == _GRADIENTS and "is not finite" in str(error):
        lines.append(_NOT_FINITE)
    lines = report_lines.indented(lines)
    if verbose:
        if isinstance(error, DifferenceError):
            lines += [*f"{error.a}\n{error.b}".splitlines()]
        lines += "".join(traceback.format_exception(error)).splitlines()
    return lines


def _of_causes() -> set[str]:
    """The laws that a common cause can break."""
    return {law for cause in CAUSES for law in (cause.law, *cause.consequences)}


def _where(subject: Subject, law: str, error: Exception) -> list[str]:
    """The largest difference and its first token, or the message of another error."""
    if not isinstance(error, AssertionError):
        return [f"It raises {type(error).__name__}: {one_line(error)}"]
    if not isinstance(error, DifferenceError):
        return [f"{one_line(error)}."]
    if not error.should_agree:
        return [
            f"The logits should differ by more than {error.limit:g}; the largest difference "
            f"is {error.largest:.2g}.",
            f"The strings have {LENGTH} tokens: give arguments that have an effect within them, "
            "such as a smaller size of a window.",
        ]
    example, token = _first_token(subject, law, error)
    return [
        f"The largest difference is {error.largest:.2g}, allowed is {error.limit:g}. The first "
        f"token with a difference is token {token} of example {example}, counted from 0."
    ]


def _first_token(subject: Subject, law: str, error: DifferenceError) -> tuple[int, int]:
    """The example and the index of the first token whose logits differ by more than allowed."""
    differs = (np.abs(error.a - error.b) > error.limit).any(axis=-1)
    if differs.ndim == 1:  # the tokens of a mask, one after the other
        mask = _compared_tokens(subject, law)
        placed = np.zeros(mask.shape, bool)
        placed[mask] = differs
        differs = placed
    token, example = min((token, example) for example, token in np.argwhere(differs))
    if law == _PACKED and differs.shape[1] < 4:
        token += LENGTH - differs.shape[1]  # of the second segment
    return int(example), int(token)


def _compared_tokens(subject: Subject, law: str) -> np.ndarray:
    """[B, L], the tokens that a law compares."""
    if law == "prefill_equals_the_full_forward":
        return subject.decoded["prompt"]
    if law == "decoding_equals_the_full_forward":
        return subject.decoded["answer"]
    return np.asarray(models.prefix([LENGTH, 5], LENGTH))
