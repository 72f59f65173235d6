"""Tables of docs/encodings.md: a row for each encoding and each position scheme.

A row comes from the class, from labeled lines of the module docstring ("Equation: ...") and from
the committed costs. A member without such a line or without a measurement has a dash there.
"""

import inspect
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import nnx

from docs.build import costs, markdown
from pe_lab import parts
from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from pe_lab.encodings.base import AttentionEncoding, InputEncoding
from pe_lab.encodings.requirements import Requirements
from pe_lab.runs.plugins import plugins
from pe_lab.training.costs import num_parameters

DASH = "–"
_POSITIONS = 64  # of the embeddings whose rms is shown, from 0 on
_ENCODING_HEADER = ("encoding", "equation", "beyond training", "source")
_SCHEME_HEADER = ("scheme", "position of token t of n", "draws", "source")


def _is_self_attention_only(requirements: Requirements) -> bool:
    in_both = requirements.causal and requirements.bidirectional
    return requirements.site == "attention" and in_both and not requirements.cross


_REQUIREMENTS: dict[str, Callable[[Requirements], bool]] = {
    "causal attention only": lambda r: r.causal and not r.bidirectional and not r.cross,
    "self-attention only, causal or not": _is_self_attention_only,
    "relative: a shift of all positions changes nothing": lambda r: r.relative,
    "reads no positions, only tokens and their order": lambda r: not r.reads_positions,
    "whole positions: schemes with fractions are rejected": lambda r: r.whole_positions,
    "positions with several axes": lambda r: r.num_axes > 1,
    "replaces a part of attention, which then cannot be fused": lambda r: bool(r.replaces),
}
_SIZE = "a size (with default arguments): larger positions are rejected"
_HOOK_OF = {"logits": "transform_logits", "normalize": "normalize", "combine": "combine"}


def encoding_tables() -> dict[str, str]:
    """Return a table for each section of the page: input, rotations, biases and terms."""
    rows: dict[str, list[list[str]]] = {"input": [], "rotations": [], "biases": [], "terms": []}
    for name in plugins.names("encodings"):
        cls: Any = plugins.find("encodings", name)
        lines = labeled_lines(cls)
        cells = [lines.get("Equation", DASH), lines.get("Beyond training", DASH), source(cls)]
        rows[_section(name)].append([f"[{name}](../{path('encodings', name)})", *cells])
    return {section: markdown.table([_ENCODING_HEADER, *rows[section]]) for section in rows}


def requirement_table() -> str:
    """Return a table with the encodings that have each requirement or property."""
    names = plugins.names("encodings")
    declared = {name: untrained(name).encoding.requirements for name in names}
    rows = []
    for title, holds in _REQUIREMENTS.items():
        names = [f"`{name}`" for name, requirements in declared.items() if holds(requirements)]
        rows.append([title, ", ".join(names) or DASH])
    sizes = {name: requirements.max_positions for name, requirements in declared.items()}
    sized = [f"`{name}` ({size})" for name, size in sizes.items() if size is not None]
    rows.append([_SIZE, ", ".join(sized) or DASH])
    return markdown.table([("requirement or property", "encodings"), *rows])


def start_table() -> str:
    """Return the rms of each input encoding's embeddings at the start; that of tokens is 1."""
    rows = []
    for name in plugins.names("encodings"):
        if _section(name) != "input":
            continue
        encoding: Any = untrained(name).encoding
        index = np.arange(_POSITIONS)
        if encoding.requirements.num_axes == 2:
            index = np.stack(np.divmod(index, math.isqrt(_POSITIONS)), axis=-1)  # a square grid
        embeddings = np.asarray(encoding.scaled_embedding(jnp.asarray(index)[None]))
        rms = np.sqrt((embeddings**2).mean())
        rows.append([f"`{name}`", f"{rms:.2g}"])
    return markdown.table([("name", "rms at the start"), *rows])


def scheme_table() -> str:
    """Return the table of all position schemes."""
    rows = [_scheme_row(name) for name in plugins.names("positions")]
    return markdown.table([_SCHEME_HEADER, *rows])


def hooks(cls: type) -> list[str]:
    """Return the hooks of attention that a class overrides, in the order of the base class."""
    names = []
    for name, method in vars(AttentionEncoding).items():
        is_hook = inspect.isfunction(method) and not name.startswith("_")
        if is_hook and getattr(cls, name) is not method:
            names.append(name)
    return names


def untrained(name: str) -> UntrainedEncoding:
    """Return an encoding with its defaults and the `example` of its class.

    Raises:
      UserError: an argument has neither.
    """
    cls: Any = plugins.find("encodings", name)
    return UntrainedEncoding({"name": name, **cls.example})


def step_times(root: Path) -> dict[str, str]:
    """Map each measured encoding to its step times over NoPE's, at 80 and at 512 tokens."""
    return {
        label.partition("(")[0]: " / ".join(f"{figure['times_first']:.2f}" for figure in figures)
        for label, figures in costs.figures(root / costs.COSTS).items()
    }


def _section(name: str) -> str:
    """Return the section of an encoding, by the hooks that its class overrides."""
    cls = plugins.find("encodings", name)
    if issubclass(cls, InputEncoding):
        return "input"
    own_hooks = hooks(cls)
    if {"content_bias", "transform_logits", "normalize"} & set(own_hooks):
        return "terms"
    if "transform_qk" in own_hooks:
        return "rotations"
    return "terms" if "combine" in own_hooks else "biases"


def facts(name: str) -> dict[str, str]:
    """Return what the page of an encoding shows of its class, with default arguments."""
    encoding = untrained(name).encoding
    requirements = encoding.requirements
    return {
        "acts in": _acts_in(type(encoding), requirements),
        "relative": _relative(requirements),
        "defined in": _defined_in(requirements),
        "parameters": f"{num_parameters(nnx.state(encoding, nnx.Param)):,}",
    }


def _scheme_row(name: str) -> list[str]:
    cls = plugins.find("positions", name)
    lines = labeled_lines(cls)
    position = lines.get("Position of token t of n", DASH)
    draws = lines.get("Draws", "never")
    link = f"[{name}](../{path('positions', name)})"
    return [link, position, draws, source(cls)]


def labeled_lines(cls: type) -> dict[str, str]:
    """Return the lines "Label: text." of the paragraph below the first line of the docstring."""
    paragraphs = docstring(cls).split("\n\n")
    if len(paragraphs) < 2:
        return {}
    pattern = r"^([A-Z][\w ]*): (.*?)\.?$"
    return dict(re.findall(pattern, paragraphs[1], re.MULTILINE))


def docstring(cls: type) -> str:
    """Return the docstring of the file of a class."""
    return inspect.cleandoc(inspect.getmodule(cls).__doc__ or "")


def _acts_in(cls: type, requirements: Any) -> str:
    if requirements.site == "input":
        return "input"
    # An instance can leave out a part of attention that its class is able to replace.
    unused = {hook for part, hook in _HOOK_OF.items() if part not in requirements.replaces}
    return ", ".join(hook for hook in hooks(cls) if hook not in unused) or "nothing"


def _relative(requirements: Any) -> str:
    cell = "yes" if requirements.relative else "no"
    if not requirements.reads_positions:
        cell += "; reads no positions"
    if requirements.num_axes > 1:
        cell += f", {requirements.num_axes} axes"
    return cell


def _defined_in(requirements: Any) -> str:
    """Return the kinds of attention in which an encoding is defined."""
    kinds = ("causal", "bidirectional", "cross")
    if requirements.site == "input" or all(getattr(requirements, kind) for kind in kinds):
        return "all"
    return ", ".join(kind for kind in kinds if getattr(requirements, kind))


def arguments(family: str, cls: type) -> str:
    """Return the arguments of a class with their defaults, without those that all members share."""
    parameters: Mapping[str, inspect.Parameter] = plugins.parameters(cls)
    shared = {*plugins.CONTEXT[family]}
    if issubclass(cls, InputEncoding):
        shared |= set(plugins.parameters(InputEncoding))
    cells = []
    for name, parameter in parameters.items():
        if name in shared:
            continue
        has_default = parameter.default is not inspect.Parameter.empty
        cells.append(f"{name}={parameter.default}" if has_default else name)
    return ", ".join(cells) or DASH


def path(family: str, name: str) -> str:
    """Return the path of a member's file in the checkout."""
    module = parts.module(family, name) or f"pe_lab.{family}.{name}"
    return f"{module.replace('.', '/')}.py"


def source(cls: type) -> str:
    """Return a link to the first paper that the module docstring names."""
    text = docstring(cls)
    link = re.search(r"https://arxiv\.org/abs/([\d.]+\d)", text)
    if link is None or "No paper:" in text:
        return DASH
    return f"[{link[1]}]({link[0]})"
