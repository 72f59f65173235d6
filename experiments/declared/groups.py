"""Which models track the state of a group?"""

from dataclasses import dataclass

from configs import convolution, state_tracking
from experiments.declared import common
from pe_lab.contrib.papers.sufficiency import CHANCE_MARGIN
from pe_lab.results import compare, formats, frame, selection
from pe_lab.results.study import Study

BETTER, WORSE, NONE, UNDECIDED = "better", "worse", "none", "undecided"
_MARGIN, _CEILING = 0.05, 0.95
_METRIC = "exact_match"


@dataclass(frozen=True)
class Reading:
    """A declared difference a - b at the training length of a group.

    Attributes:
      shown: the difference with its interval, or the reason why there is none.
      outcome: what a is, relative to b.
    """

    group: str
    a: str
    b: str
    shown: str
    outcome: str


def readings(folder: str) -> list[Reading]:
    """Return the declared differences of a study's folder, by group.

    Raises:
      UserError: the study is of another form, or lacks a run.
    """
    runs = common.read([folder])
    convolutions = f"nope · {convolution.WITH}"
    rows = ("row", [*state_tracking.ENCODINGS, convolutions, state_tracking.LSTM])
    rates, seeds = state_tracking.RATES, range(state_tracking.SEEDS["groups"])
    common.check_one_of_each(folder, runs, rows, list(state_tracking.GROUPS), rates, seeds)
    study = selection.choose(frame.read(folder))
    return [_reading(study, contrast) for contrast in compare.contrasts(study)]


def _reading(study: Study, contrast: compare.Comparison) -> Reading:
    group, interval = study.by_name[contrast.a]["task_name"], contrast.interval
    a, b = (name.removesuffix(f" · {group}") for name in (contrast.a, contrast.b))
    if interval is None:
        return Reading(group, a, b, contrast.reason, UNDECIDED)
    levels = study.chance_levels
    is_level = (levels["task"] == group) & (levels["metric"] == _METRIC)
    length = study.by_name[contrast.a]["max_length"]
    (chance,) = levels.loc[is_level & (levels["length"] == length), "value"]
    shown = formats.difference(contrast.difference, interval)
    ends = float(interval.low), float(interval.high)
    return Reading(group, a, b, shown, outcome(ends, contrast.means, chance))


def outcome(interval: tuple[float, float], means: tuple[float | None, ...], chance: float) -> str:
    """Return what a is, relative to b, by the declared rule.

    Args:
      interval: of the mean difference a - b.
      means: of a and of b.
      chance: the chance level of the group.
    """
    low, high = interval
    if low > 0 or high < 0:
        return BETTER if low > 0 else WORSE
    scores = [mean for mean in means if mean is not None]
    at_an_end = max(scores) < chance + CHANCE_MARGIN or min(scores) > _CEILING
    return NONE if max(-low, high) <= _MARGIN and not at_an_end else UNDECIDED


def groups_lines(folder: str) -> list[str]:
    """Return one line for each declared difference of a study's folder."""
    return [
        f"{each.group:4} {each.a:18} - {each.b:6} {each.shown}: {each.outcome}"
        for each in readings(folder)
    ]
