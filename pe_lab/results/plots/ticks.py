"""Limits and ticks of the axes of plots."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_TICKS = 9


def shares(axis: "Axes", lowest: float = 0.0, highest: float = 1.0) -> None:
    """Show shares from 0 to 1, and further if there are such values."""
    axis.set_ylim(min(0.0, lowest) - 0.04, max(1.0, highest) + 0.04)
    if lowest >= 0 and highest <= 1:
        axis.set_yticks([0, 0.25, 0.5, 0.75, 1])


def lengths(axis: "Axes", values: Sequence[int | float]) -> None:
    """Set ticks at the lengths, on a log scale if they span more than a factor of 20."""
    if values[-1] > 20 * values[0]:
        axis.set_xscale("log", base=2)
    at_numbers(axis, values)


def at_numbers(axis: "Axes", numbers: Sequence[int | float], unit: str = "") -> None:
    """Set ticks at numbers, without those that would overlap."""
    places = list(numbers)
    if axis.get_xscale() == "log":
        places = [math.log2(number) for number in numbers]
    least = (places[-1] - places[0]) / _MOST_TICKS
    ticks: list[int | float] = []
    last = -math.inf
    for number, place in zip(numbers, places, strict=True):
        if place - last >= least:
            ticks.append(number)
            last = place
    axis.set_xticks(ticks, [f"{tick:g}{unit}" for tick in ticks])
    axis.minorticks_off()
