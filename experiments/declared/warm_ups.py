"""Does an encoding depend on the warm-up?"""

from collections.abc import Sequence
from dataclasses import dataclass

from configs import speedruns, warm_up
from experiments.declared import common
from pe_lab.results import compare, formats, frame, selection

DEPENDS, INDEPENDENT, UNDECIDED = "depends", "does not depend", "undecided"
_TASK = "copy"


@dataclass(frozen=True)
class Reading:
    """The difference of the longest and the shortest warm-up, for an encoding and a rate.

    Attributes:
      shown: the difference with its interval, or the reason why there is none.
      interval: None without one.
      means: exact match at twice the training length with the longest and the shortest warm-up.
    """

    encoding: str
    rate: str
    shown: str
    interval: tuple[float, float] | None
    means: tuple[float | None, ...]


def readings(folder: str) -> dict[str, list[Reading]]:
    """Return the readings of each encoding, one for each rate.

    Raises:
      UserError: the study is of another form, or lacks a run.
    """
    runs = common.read([folder])
    warm_ups = [warm_up.label(steps) for steps in warm_up.WARM_UPS]
    rows = [f"{name} · {label}" for name in warm_up.ENCODINGS for label in warm_ups]
    seeds = range(warm_up.SEEDS)
    common.check_one_of_each(folder, runs, ("row", rows), [_TASK], warm_up.RATES, seeds)
    study = selection.choose(frame.read(folder))
    shortest, *_, longest = warm_ups
    by_encoding: dict[str, list[Reading]] = {}
    for contrast in compare.contrasts(study):
        encoding, warm_up_steps, rate = contrast.a.split(" · ")
        if warm_up_steps != longest or shortest not in contrast.b.split(" · "):
            continue
        interval, shown = None, contrast.reason
        if contrast.interval is not None:
            interval = float(contrast.interval.low), float(contrast.interval.high)
            shown = formats.difference(contrast.difference, contrast.interval)
        reading = Reading(encoding, rate, shown, interval, contrast.means)
        by_encoding.setdefault(encoding, []).append(reading)
    return by_encoding


def outcome(by_rate: Sequence[Reading]) -> str:
    """Return whether an encoding depends on the warm-up, by the declared rule."""
    intervals = [reading.interval for reading in by_rate if reading.interval is not None]
    if len(intervals) < len(warm_up.RATES):
        return UNDECIDED
    if all(low > 0 for low, _ in intervals) or all(high < 0 for _, high in intervals):
        return DEPENDS
    is_none = all(max(-low, high) <= warm_up.MARGIN for low, high in intervals)
    at_ends = any(speedruns.shared_end(*reading.means) for reading in by_rate)
    return INDEPENDENT if is_none and not at_ends else UNDECIDED


def warm_up_lines(folder: str) -> list[str]:
    """Return one line for each encoding and rate, and one for the outcome of an encoding."""
    lines = []
    for encoding, by_rate in readings(folder).items():
        lines += [f"{encoding:8} at rate {each.rate}: {each.shown}" for each in by_rate]
        lines.append(f"{encoding:8} {outcome(by_rate)}")
    return lines
