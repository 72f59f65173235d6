"""Whether a run is solved and its exact match reaches the study's threshold of extrapolation."""

from pe_lab.metrics.base import LengthMetric, MeasuredRun
from pe_lab.runs.records import records


class Extrapolates(LengthMetric):
    label = "seeds that extrapolate"
    by_length = False  # tables read it at the point of extrapolation alone
    by_offset = False
    at_extrapolation = True
    style = "count"
    show = "count"

    def of_length(self, run: MeasuredRun, length: int, offset: int) -> int | None:
        """Return 1 or 0; None if the run failed, or if nobody has measured the length."""
        if run.record["status"] == "diverged":
            return 0
        if (length, offset, "exact_match") not in run.rows:
            return None
        exact_match = run.at(length, offset)
        if exact_match is None:
            return 0  # the encoding ends before the length
        is_reached = exact_match >= run.extrapolation.threshold - records.ROUNDING
        return int(is_reached and run.solved)
