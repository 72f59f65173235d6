"""Durations in words."""

_UNITS = {"years": 365 * 86400, "days": 86400, "hours": 3600, "minutes": 60}


def in_words(seconds: float) -> str:
    """Return a duration in the largest unit of which it has two or more: 90.0 minutes."""
    for unit, size in _UNITS.items():
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"
