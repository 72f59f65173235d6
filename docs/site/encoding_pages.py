"""One page for each encoding: formula, docstring, picture, scorecard, suite, cost and use."""

import json
import re
from pathlib import Path
from typing import Any

from docs.build import catalog, encodings, markdown
from docs.site import member_pages
from pe_lab.encodings.base import InputEncoding
from pe_lab.inspection import scorecard
from pe_lab.inspection.encoding_pictures import caption
from pe_lab.runs import plugins

SUITE = Path("results/published/suite/README.md")
COMMAND = "pe-lab suite"
_COSTS = "../results/published/encoding_costs/README.md"
# The values that a model gives to a constructor, in the programs of the pages.
_CONTEXT = {
    "width": "64",
    "num_heads": "4",
    "head_dim": "16",
    "num_layers": "2",
    "bidirectional": "False",
    "rngs": "nnx.Rngs(0)",
}
# The hook of an encoding with one hook -> its call.
_CALLS = {
    "transform_qk": "q, k = encoding.transform_qk(q, k, tokens, tokens)",
    "bias": "bias = encoding.bias(tokens, tokens)  # [1, H, L, S], added to q·k / √Dh",
    "mask": "mask = encoding.mask(tokens, tokens)  # [1, H or 1, L, S], True: may attend",
}


def pages(root: Path) -> dict[str, str]:
    """Return the page of each encoding, by its name in the site."""
    record = json.loads((root / encodings.SCORECARD).read_text(encoding="utf-8"))
    times = catalog.step_times(root)
    suite = (root / SUITE).read_text(encoding="utf-8")
    texts = {}
    for name in plugins.names("encodings"):
        cls = plugins.find("encodings", name)
        row = scorecard.Row(**record[name]) if name in record else encodings.not_measured(name)
        parts = [
            f"# {name}",
            member_pages.description(cls),
            _facts(name, times.get(name, catalog.DASH)),
            f"## Use\n\n{_use(name)}",
            _picture(root, name, row),
            f"## In the standard suite\n\n{suite_rows(suite, name)}",
            f"## Class\n\n{member_pages.class_reference(cls)}",
        ]
        texts[f"encodings/{name}"] = "\n\n".join(part for part in parts if part) + "\n"
    return texts


def _facts(name: str, step_time: str) -> str:
    """Return the table of what an encoding needs, adds and costs."""
    facts = catalog.facts(name)
    rows = [
        ["property", "value"],
        ["[hooks](reuse.md#hooks)", facts["acts in"]],
        ["a shift of all positions changes nothing (relative)", facts["relative"]],
        ["defined in attention", facts["defined in"]],
        ["parameters of a module, at width 64 with 4 heads", facts["parameters"]],
        [f"[step time]({_COSTS}) relative to no encoding, 80 / 512 tokens", step_time],
        ["source", f"[pe_lab/encodings/{name}.py](source:pe_lab/encodings/{name}.py)"],
    ]
    return markdown.table(rows)


def _use(name: str) -> str:
    cls: Any = plugins.find("encodings", name)
    arguments = {"name": name} | cls.example
    config = ", ".join(f"{key}={value!r}" for key, value in arguments.items()).replace("'", '"')
    return f"""In a config:

```python
c.model.encodings = (dict({config}),)
```

In your own model:

```python
{program(name)}
```

[Encodings in your own model](reuse.md) has complete programs."""


def program(name: str) -> str:
    """Return a program that uses an encoding: its imports and three lines, or four with features.

    It reads x [B, L, D], positions [1, L] (with two axes [1, L, 2]), q, k and v [B, L, H, Dh], and
    a mask [1, 1, L, S].
    """
    cls: Any = plugins.find("encodings", name)
    given = {key: repr(value) for key, value in cls.example.items()}
    parameters = plugins.parameters(cls)
    given |= {key: value for key, value in _CONTEXT.items() if key in parameters}
    build = f"encoding = {cls.__name__}({', '.join(f'{k}={v}' for k, v in given.items())})"
    imports = ["from flax import nnx"] if "nnx." in build else []
    imports.append(f"from pe_lab.encodings import {cls.__name__}")
    if issubclass(cls, InputEncoding):
        return "\n".join([*imports, "", build, "x = encoding(x, positions)"])
    hooks = catalog.hooks(cls)
    imports.append("from pe_lab.encodings.base import Tokens")
    if len(hooks) == 1 and hooks[0] in _CALLS:
        lines = ["tokens = Tokens(positions)", _CALLS[hooks[0]]]
        return "\n".join([*imports, "", build, *lines])
    imports += [
        "from pe_lab.model.attention import attend",
        "from pe_lab.model.terms import LayerEncoding, attention_terms",
    ]
    lines = ["Q = K = Tokens(positions, slots)"]
    if "features" in hooks:
        lines = [
            "of_queries, of_keys = encoding.features(x, positions)",
            "Q, K = (Tokens(positions, slots, features=f) for f in (of_queries, of_keys))",
        ]
    lines.append(
        "out = attend(q, k, v, attention_terms([LayerEncoding(encoding, None, Q, K)], mask))"
    )
    return "\n".join([*imports, "", build, *lines])


def _picture(root: Path, name: str, row: scorecard.Row) -> str:
    """Return the section with the picture of an encoding and its row of the scorecard."""
    folder = encodings.SCORECARD.parent
    if not (root / folder / f"{name}.png").exists():
        return ""
    header = [p.name for p in scorecard.PROPERTIES]
    cells = [scorecard.cell(row, p) for p in scorecard.PROPERTIES]
    table = markdown.table([header, cells]) if row.numbers else ""
    picture = f"![Picture of {name}]({folder.name}/{name}.png)"
    meaning = "[What the properties mean](encodings.md#measured-properties)" if table else ""
    parts = ["## Measured properties", picture, caption(row), table, meaning]
    return "\n\n".join(part for part in parts if part)


def suite_rows(suite: str, name: str) -> str:
    """Return the rows of an encoding in the tables of the suite's README, under their headings."""
    parts = []
    for section in suite.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        lines = text.splitlines()
        header = [line for line in lines if line.startswith("| encodings ")]
        rows = [line for line in lines if re.match(rf"\| {name}[ (]", line)]
        if header and rows:
            line = re.sub(r"[^|]", "-", header[0])
            parts.append("\n".join([f"**{title}**", "", header[0], line, *rows]))
    if not parts:
        return f"No row is published yet. This command trains one: `{COMMAND} {name}`."
    return "\n\n".join([*parts, f"[All rows and their notes](../{SUITE})"])
