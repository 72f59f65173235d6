"""Uniform lengths up to a bound that grows at chosen steps."""

from dataclasses import dataclass

import numpy as np

from pe_lab.training.lengths.base import LengthDistribution, Lengths, Step, Weights


@dataclass(frozen=True)
class Stepwise(LengthDistribution):
    """From step `starts[i]` on, the lengths up to `longest[i]` are equally likely.

    Args:
      longest: the longest length of each phase, ascending; the last one is `train.max_length`.
      starts: the first step of each phase, ascending from 0.
    """

    longest: tuple[int, ...]
    starts: tuple[int, ...]

    depends_on_step = True

    def __post_init__(self):
        begins_at_0 = self.starts[:1] == (0,)
        if len(self.longest) != len(self.starts) or not begins_at_0:
            raise ValueError(
                f"stepwise needs one of starts for each of longest, the first one 0, got "
                f"longest={self.longest} and starts={self.starts}."
            )
        for name, values in (("longest", self.longest), ("starts", self.starts)):
            if any(np.diff(values) <= 0):
                raise ValueError(f"stepwise's {name} must ascend, got {values}.")

    def relative_weights(self, lengths: Lengths, step: Step) -> Weights:
        if self.longest[-1] != lengths[-1]:
            raise ValueError(
                f"stepwise's longest must end with config.train.max_length {lengths[-1]}, got "
                f"{self.longest}."
            )
        phases = np.searchsorted(self.longest, lengths)
        first_steps = np.array(self.starts)[phases]
        return step >= first_steps
