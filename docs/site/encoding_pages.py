"""One page for each encoding: formula, docstring, picture, scorecard, suite, cost and use."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docs.build import catalog, encodings, markdown
from docs.build.suite_rows import FOLDERS, HEADERS
from docs.site import member_pages
from pe_lab.contrib.grids import suite_tables as grids
from pe_lab.contrib.inspection import scorecard
from pe_lab.contrib.inspection.encoding_pictures import caption
from pe_lab.encodings.base import InputEncoding
from pe_lab.results import formats, frame, notes
from pe_lab.results.formats import Cell, Table
from pe_lab.runs.plugins import plugins

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
# The inputs of the programs, in the order in which a page defines them, for eight tokens.
_INPUTS = {
    "slots": "slots = jnp.arange(8)[None]  # places in the array, [1, L]",
    "mask": "mask = jnp.tril(jnp.ones((1, 1, 8, 8), bool))  # [1, 1, L, S]",
    "x": "x = jax.random.normal(jax.random.key(0), (2, 8, 64))  # [B, L, D]",
    "q": "q, k, v = jax.random.normal(jax.random.key(1), (3, 2, 8, 4, 16))  # [B, L, H, Dh]",
}
_POSITIONS = {  # by their number of axes
    1: "positions = jnp.arange(8)[None]  # [1, L]",
    2: "positions = jnp.indices((2, 4)).reshape(2, -1).T[None]  # row and column, [1, L, 2]",
    3: "positions = jnp.indices((2, 2, 2)).reshape(3, -1).T[None]  # time, row, column, [1, L, 3]",
}
# The hook of an encoding with one hook -> its call.
_CALLS = {
    "transform_qk": "q, k = encoding.transform_qk(q, k, tokens, tokens)",
    "bias": "bias = encoding.bias(tokens, tokens)  # [1, H, L, S], added to q·k / √Dh",
    "mask": "mask = encoding.mask(tokens, tokens)  # [1, H or 1, L, S], True: may attend",
}


def pages(root: Path) -> dict[str, str]:
    """Return the page of each encoding, by its name in the site."""
    rows = encodings.rows(root)
    times = catalog.step_times(root)
    tables = suite_tables(root)
    texts = {}
    for name in plugins.names("encodings"):
        cls = plugins.find("encodings", name)
        parts = [
            f"# {name}",
            member_pages.description(cls),
            _facts(name, times.get(name, catalog.DASH)),
            f"## Use\n\n{_use(name)}",
            _picture(root, name, rows[name]),
            f"## In the standard suite\n\n{suite_rows(tables, name)}",
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
        [
            "source",
            f"[{catalog.path('encodings', name)}](source:{catalog.path('encodings', name)})",
        ],
    ]
    return markdown.table(rows)


def _use(name: str) -> str:
    cls: Any = plugins.find("encodings", name)
    config = _as_config({"name": name} | cls.example)
    return f"""In a config:

```python
c.model.encodings = ({config},)
```

In your own model:

```python
{program(name)}
```

To try it, define its inputs first:

```python
{inputs(name)}
```

[Encodings in your own model](reuse.md) has complete programs."""


def _as_config(value: Any) -> str:
    """Return a value as a config writes it."""
    if not isinstance(value, Mapping):
        return repr(value).replace("'", '"')
    items = [f"{key}={_as_config(item)}" for key, item in value.items()]
    return f"dict({', '.join(items)})"


def program(name: str) -> str:
    """Return a program that uses an encoding: its imports and three lines.

    An encoding with features needs a fourth line, and so does one that is built around another.
    `inputs` defines the names that the program reads.
    """
    cls: Any = plugins.find("encodings", name)
    build, classes = _construction("encoding", name, cls.example)
    imports = ["from flax import nnx"] if "nnx." in build else []
    package = cls.__module__.rpartition(".")[0]
    imports.append(f"from {package} import {', '.join(sorted(classes))}")
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


def inputs(name: str) -> str:
    """Return a program that defines what the program of an encoding reads."""
    cls: Any = plugins.find("encodings", name)
    read = {node.id for node in ast.walk(ast.parse(program(name))) if isinstance(node, ast.Name)}
    lines = [_POSITIONS[cls.requirements.num_axes]]
    lines += [line for variable, line in _INPUTS.items() if variable in read]
    imports = ["import jax"] if any("jax." in line for line in lines) else []
    return "\n".join([*imports, "import jax.numpy as jnp", "", *lines])


def _construction(variable: str, name: str, arguments: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the lines that build an encoding, and the names of the classes that they use.

    Args:
      arguments: those that have no default. One that is an encoding is built in a line before.
    """
    cls: Any = plugins.find("encodings", name)
    lines, classes, given = [], [cls.__name__], {}
    for key, value in arguments.items():
        if isinstance(value, Mapping):
            inner_arguments = {k: v for k, v in value.items() if k != "name"}
            line, inner_classes = _construction(key, value["name"], inner_arguments)
            lines.append(line)
            classes += inner_classes
            given[key] = key
        else:
            given[key] = repr(value)
    parameters = plugins.parameters(cls)
    given |= {key: value for key, value in _CONTEXT.items() if key in parameters}
    values = ", ".join(f"{key}={value}" for key, value in given.items())
    lines.append(f"{variable} = {cls.__name__}({values})")
    return "\n".join(lines), classes


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


def suite_tables(root: Path) -> dict[str, Table]:
    """Return the table of each published form of suite_grid."""
    tables = {}
    for form, folder in FOLDERS.items():
        study = frame.read(root / folder)
        runs = grids.scores(study, {})
        (tables[form],) = grids.tables(runs, study.spec, [folder.name])
    return tables


def suite_rows(tables: Mapping[str, Table], name: str) -> str:
    """Return the rows of an encoding in the tables of suite_grid."""
    rows, header, caption = [], [], ""
    for form, table in tables.items():
        task = Cell(f"[{HEADERS[form]}](../{FOLDERS[form]}/README.md)")
        header, caption = ["variant", "task", *table.header[1:]], table.caption
        of_name = [row for row in table.rows if re.match(rf"{name}( |\(|$)", row[0].text)]
        rows += [[row[0], task, *row[1:]] for row in of_name]
    if not rows:
        return f"No row is published yet. This command trains one: `{COMMAND} {name}`."
    whole = notes.table("", caption, header, rows, [])
    parts = [formats.markdown(whole, has_links=True), caption, formats.notes([whole])]
    return "\n\n".join(part for part in parts if part)
