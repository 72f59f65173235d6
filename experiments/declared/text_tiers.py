"""Do the tiers of the suite hold on a text?"""

import pandas as pd

from experiments.declared import common
from pe_lab.results import selection
from pe_lab.results.study import Study
from pe_lab.runs.errors import UserError


def tiers(text: Study, suite: pd.DataFrame) -> tuple[list[tuple[str, str, str]], str]:
    """Return name, bits and share of each row that both studies have, and what their orders say.

    A row of a text has its median bits at the point of extrapolation, at the rate that validation
    chooses. A row of the suite has its share of solved runs that extrapolate, over all tasks and
    rates.

    Args:
      suite: result of `common.read`.

    Raises:
      UserError: the studies have no row in common.
    """
    bits = _bits(selection.choose(text))
    scores, rows = [], []
    for row, row_runs in suite[suite["row"].isin(list(bits))].groupby("row"):
        by_seed = common.counts(row_runs)
        share = "left out: no run of the suite is solved"
        if by_seed["solved"].any():
            scores.append((-bits[str(row)], common.share(by_seed)))
            share = common.share_text(by_seed)
        rows.append((str(row), f"{bits[str(row)]:.3f}", share))
    if not rows:
        raise UserError(f"The suite has none of the text's rows: {', '.join(bits)}.")
    pair = [score for score, _ in scores], [share for _, share in scores]
    reason = common.no_order(*pair)
    if reason is not None:
        return rows, reason
    tau = common.kendall(*pair)
    holds = "the tiers hold" if tau > common.LEAST_TAU else "another order"
    return rows, f"tau {tau:.2f} over {len(scores)} rows: {holds}"


def real_text_lines(text: Study, suite: pd.DataFrame) -> list[str]:
    """Return one line for each row of `tiers`, and what the orders say."""
    rows, order = tiers(text, suite)
    return [*(f"{row:26} {bits} bits, {share}" for row, bits, share in rows), order]


def _bits(text: Study) -> dict[str, float]:
    """Return the median bits of each row at the point of extrapolation."""
    numbers = text.numbers
    max_length = int(text.finished["max_length"].max())
    is_scored = (
        (numbers["metric"] == text.headline)
        & (numbers["split"] == "test")
        & (numbers["offset"] == 0)
        & (numbers["override"] == "")
        & (numbers["length"] == text.spec.extrapolation.point.length_for(max_length))
    )
    medians = numbers[is_scored].groupby("variant", observed=True)["value"].median()
    return {str(row): float(value) for row, value in medians.items()}
