"""Rows of the suite on the command line: encodings, some with labels of their own."""

import re

from pe_lab.runs.errors import UserError
from pe_lab.runs.settings.labels import label, parse

# A label before a plugin: mine=my.module:Mine. In rope(base=2), a bracket comes first.
_OWN_LABEL = re.compile(r"([\w][\w .+-]*?)\s*=\s*")


def parse_labelled(text: str) -> dict[str, tuple[dict[str, object], ...]]:
    """Return the plugins of each item of a list with commas, under its label.

    An item is read by `parse` and may have a label of its own before it:
    mine=my.module:Mine, rope(base=5e5) + alibi.

    Raises:
      UserError: the text is not such a list, or two items have one label.
    """
    plugins = {}
    for item in _items(text):
        own_label = _OWN_LABEL.match(item)
        encoding = item[own_label.end() :] if own_label else item
        plugin = parse(encoding)
        name = own_label.group(1) if own_label else label(plugin)
        if name in plugins:
            raise UserError(
                f"Two of the encodings are called {name}: name one, as in other={encoding}"
            )
        plugins[name] = plugin
    return plugins


def _items(text: str) -> list[str]:
    """Return the parts of a list with commas, which may be inside of brackets and quotes too."""
    items = [""]
    depth = 0
    for part in re.split(r"""('[^']*'|"[^"]*"|[(),])""", text):
        depth += (part == "(") - (part == ")")
        if part == "," and depth == 0:
            items.append("")
        else:
            items[-1] += part
    return [item.strip() for item in items]
