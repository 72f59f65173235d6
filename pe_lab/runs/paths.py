"""Values of a config by their dotted path, in which a number is an index of a list.

value_at(config, "model.encodings.0.name")
"""

from collections.abc import Mapping
from typing import Any


def value_at(config: object, path: str) -> Any:
    """Return the value at a path.

    Raises:
      KeyError: the config does not have the path. Its arguments are the first key that is missing,
        and the keys in its place.
    """
    value: Any = config
    for key in path.split("."):
        if isinstance(value, list | tuple):
            value = {str(index): item for index, item in enumerate(value)}
        keys = list(value) if isinstance(value, Mapping) else []
        if key not in keys:
            raise KeyError(key, keys)
        value = value[key]
    return value
