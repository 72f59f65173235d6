"""Durations in words."""

_UNITS = {"years": 365 * 86400, "days": 86400, "hours": 3600, "minutes": 60}


def in_words(seconds: float) -> str:
    """Return a duration in the largest unit of which it has two or more: 90.0 minutes."""
    for unit, size in _UNITS.items():
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"


def roughly(seconds: float) -> str:
    """Return a duration in round numbers, which change seldom while it is shown: 6 minutes."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 90:
        return f"{10 * round(seconds / 10)} seconds"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} minutes"
    if seconds < 36 * 3600:
        return f"{seconds / 3600:.1f} hours"
    return in_words(seconds)
