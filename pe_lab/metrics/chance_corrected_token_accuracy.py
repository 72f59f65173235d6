"""Share of the way from the chance level to 1 that the token accuracy reaches.

It is 0 at the chance level and negative below it. There is no value if the chance level is 1, or
with an evaluation override of the task, whose chance levels are not measured.
"""

import math

from pe_lab.metrics.base import LengthMetric, MeasuredRun


class ChanceCorrectedTokenAccuracy(LengthMetric):
    label = "token accuracy over the chance level"
    range = (-math.inf, 1.0)
    caption = (
        "(accuracy − chance) / (1 − chance), where the chance level is reached by the most "
        "frequent symbol of each position at that length, without seeing the prompt."
    )

    def of_length(self, run: MeasuredRun, length: int, offset: int) -> float | None:
        row = run.rows.get((length, offset, "token_accuracy"))
        # A record has the chance levels of the trained task only.
        if row is None or (row["override"] or {}).get("task") is not None:
            return None
        accuracy = row["value"]
        for level in run.record["chance_levels"]:
            if accuracy is not None and level["length"] == length:
                return chance_corrected(accuracy, level["token_accuracy"])
        return None


def chance_corrected(accuracy: float, chance_level: float) -> float | None:
    """The corrected accuracy; None if the chance level is 1."""
    return None if chance_level >= 1 else (accuracy - chance_level) / (1 - chance_level)
