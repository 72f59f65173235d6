"""The numbers of a tuned axis: its edges, and the next number beyond one of them."""

from collections.abc import Iterable

from pe_lab.runs.grid import Point


def sorted_numbers(values: Iterable[object]) -> list[int | float] | None:
    """The values in increasing order; None if one of them is not a number."""
    numbers: list[int | float] = []
    for value in values:
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        numbers.append(value)
    return sorted(numbers)


def edges(setting: Point, settings: Iterable[Point]) -> tuple[str, ...]:
    """The axes on which a setting has the smallest or the largest of the numbers tried."""
    settings = list(settings)
    axes = []
    for path, choice in setting.items():
        numbers = sorted_numbers(other[path].value for other in settings)
        if numbers is not None and choice.value in (numbers[0], numbers[-1]):
            axes.append(path)
    return tuple(axes)


def beyond(edge: object, values: Iterable[object]) -> int | float | None:
    """The next number beyond the smallest or the largest value, at the ratio of the last two.

    Returns:
      A whole number among whole numbers; None if there is none above 0.
    """
    values = list(values)
    numbers = sorted_numbers(values)
    assert numbers is not None  # `tuning.read` refuses to extend other values
    last, before = numbers[-1], numbers[-2]
    if edge == numbers[0]:
        last, before = numbers[0], numbers[1]
    exact = last * last / before
    if all(isinstance(number, int) for number in values):
        whole = round(exact)
        return None if whole < 1 or whole in numbers else whole
    short = float(f"{exact:.2g}")  # as short as the values of a config
    return exact if short in numbers else short
