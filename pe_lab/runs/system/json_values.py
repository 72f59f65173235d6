"""What JSON cannot hold: the values of a plugin that a file of results would not give back."""

import math
from collections.abc import Mapping


def mistake(value: object) -> str | None:
    """Return the first part of a value that JSON cannot hold, in words; None if there is none."""
    path_and_reason = _first_mistake(value)
    if path_and_reason is None:
        return None
    path, reason = path_and_reason
    return f"its {path.removeprefix('.')} is {reason}" if path else f"it is {reason}"


def _first_mistake(value: object) -> tuple[str, str] | None:
    """Return the path and the reason of the first mistake."""
    if isinstance(value, str):
        return None if is_unicode(value) else ("", f"{value!r}, which is not valid Unicode")
    if value is None or isinstance(value, bool | int):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else ("", f"{value}, which is not finite")
    if isinstance(value, Mapping):
        parts = [(f".{key}", part) for key, part in value.items()]
    elif isinstance(value, list | tuple):
        parts = [(f"[{index}]", part) for index, part in enumerate(value)]
    else:
        return "", f"of the type {type(value).__name__}"
    for step, part in parts:
        if not is_unicode(step):
            return "", f"an object with the key {step[1:]!r}, which is not valid Unicode"
        inner = _first_mistake(part)
        if inner is not None:
            return f"{step}{inner[0]}", inner[1]
    return None


def is_unicode(text: str) -> bool:
    """Return whether a text has no lone surrogate, such as a byte of a path that is no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
