"""Upper bounds of numbers in prose."""

import math


def at_most(number: float, digits: int) -> str:
    """Round up to so many digits after the point: an upper bound must not be rounded down."""
    rounded = math.ceil(number * 10**digits - 1e-9) / 10**digits
    return f"{rounded:.{digits}f}"


def power_at_most(number: float) -> str:
    """Round up to one digit and a power of ten, as 2e-06."""
    exponent = math.floor(math.log10(number))
    digit = math.ceil(number / 10.0**exponent - 1e-9)
    if digit == 10:
        digit, exponent = 1, exponent + 1
    return f"{digit}e{exponent:03d}"
