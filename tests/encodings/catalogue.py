"""The cells of docs/encodings.md that come from code and records."""

import functools
import inspect
import json
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
from flax import nnx

from pe_lab.runs import plugins
from tests.encodings import laws

COSTS = Path(__file__).parents[2] / "results" / "published" / "encoding_costs" / "costs.json"
TARGETS = COSTS.with_name("targets.json")
PROFILE = COSTS.with_name("profile.json")
PLACES = {  # of a profile, by the beginning of a place's name; records have the names of their commit
    "own hooks": ("encodings/", "kernels/encodings/"),
    "scores, softmax and sum": (
        "encodings/base.py masked_softmax",
        "encodings/base.py AttentionEncoding.mix",
        "encodings/base.py weighted_sum",
        "encodings/ops.py masked_softmax",
        "transformer/attention.py attend",
        "transformer/attention_cpu.py",
        "model/attention.py attend",
        "kernels/attention_cpu.py",
    ),
    "projections, feed-forward": (
        "transformer/products.py",
        "transformer/attention.py Attention",
        "transformer/transformer.py FeedForward",
        "kernels/products.py",
        "model/attention.py Attention",
        "model/block.py FeedForward",
    ),
}
HEADER = (
    "| name | equation | acts in | relative | defined in | parameters | beyond training | step / NoPE's | arguments | source |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)
WIDTH, HEADS = 64, 4  # configs/base.py's


@functools.cache
def built(name: str) -> Any:
    """With the defaults where they suffice."""
    takes = plugins.parameters(plugins.find("encodings", name))
    needs = [
        k
        for k, p in takes.items()
        if p.default is inspect.Parameter.empty and k not in plugins.CONTEXT["encodings"]
    ]
    given = {k: v for k, v in laws.spec(name).items() if k in ("name", *needs)}
    context = dict(
        width=WIDTH,
        num_heads=HEADS,
        head_dim=WIDTH // HEADS,
        num_layers=2,
        bidirectional=False,
        rngs=nnx.Rngs(params=0),
    )
    return plugins.build("encodings", plugins.resolve("encodings", given), **context)


def costs(record: Path = COSTS) -> dict[str, list[dict[str, Any]]]:
    """Encoding -> its figures, of 80 tokens and of 512."""
    found: dict[str, list[dict[str, Any]]] = {}
    for figure in json.loads(record.read_text()) if record.exists() else []:
        found.setdefault(re.match(r"\w+", figure["label"])[0], []).append(figure)
    return found


def cost_table(record: Path = COSTS) -> str:
    """Of all encodings measured: time and temporaries over NoPE's, at 80 tokens and at 512."""
    nope = [figure["temporary_bytes"] for figure in costs(record)["nope"]]
    lines = [
        "| encoding | step, 80 tokens | step, 512 tokens | temporaries, 80 | temporaries, 512 |",
        "|---|---|---|---|---|",
    ]
    for figures in costs(record).values():
        times = [
            f"{f['times_first']:.2f} ({f['times_first_quartiles'][0]:.2f}–{f['times_first_quartiles'][1]:.2f})"
            for f in figures
        ]
        memory = [f"{f['temporary_bytes'] / n:.2f}" for f, n in zip(figures, nope, strict=True)]
        lines.append(f"| `{figures[0]['label']}` | {' | '.join(times + memory)} |")
    return "\n".join(lines)


def profile_table(*names: str) -> str:
    """Milliseconds of a step by place, at 80 tokens and at 512."""
    found = json.loads(PROFILE.read_text())
    lines = [
        f"| encoding, tokens | {' | '.join(PLACES)} | all else | sum |",
        "|---|" + "---|" * (len(PLACES) + 2),
    ]
    for name in names:
        for figure, tokens in zip(
            (f for f in found if re.match(r"\w+", f["label"])[0] == name), (80, 512), strict=True
        ):
            spent = dict.fromkeys([*PLACES, "all else"], 0.0)
            for place, seconds in figure["profile"].items():
                spent[_kind(place)] += 1e3 * seconds
            lines.append(
                f"| `{name}`, {tokens} | {' | '.join(f'{ms:.1f}' for ms in [*spent.values(), sum(spent.values())])} |"
            )
    return "\n".join(lines)


def _kind(place: str) -> str:
    """The most particular of PLACES."""
    return next(
        (kind for kind, names in reversed(PLACES.items()) if place.startswith(names)), "all else"
    )


def row(name: str, equation: str, beyond: str) -> str:
    cells = [
        f"`{name}`",
        equation,
        acts_in(name),
        relative(name),
        defined_in(name),
        parameters(name),
        beyond,
    ]
    cells += [step(name), arguments(name), source(name)]
    return f"| {' | '.join(cells)} |"


def acts_in(name: str) -> str:
    encoding = built(name)
    if encoding.requirements.site == "input":
        return "input"
    return ", ".join(hook for hook in laws.hooks(encoding) if _is_used(encoding, hook)) or "nothing"


def _is_used(encoding: Any, hook: str) -> bool:
    """Whether an instance declares the part of attention that its class replaces by a hook."""
    part = {"transform_logits": "logits", "normalize": "normalize", "combine": "combine"}.get(hook)
    return part is None or part in encoding.requirements.replaces


def relative(name: str) -> str:
    encoding = built(name)
    axes = f", {encoding.requirements.num_axes} axes" if encoding.requirements.num_axes > 1 else ""
    is_relative = "yes" if encoding.requirements.relative else "no"
    reads = "" if encoding.requirements.reads_positions else "; reads no positions"
    return is_relative + reads + axes


def defined_in(name: str) -> str:
    """Which attention: causal, bidirectional, cross."""
    encoding = built(name)
    if encoding.requirements.site == "input":
        return "all"
    found = [
        trait
        for trait in ("causal", "bidirectional", "cross")
        if getattr(encoding.requirements, trait)
    ]
    return "all" if len(found) == 3 else ", ".join(found)


def parameters(name: str) -> str:
    """Of one module."""
    return f"{sum(int(np.prod(p.shape)) for p in jax.tree.leaves(nnx.state(built(name), nnx.Param))):,}"


def step(name: str) -> str:
    """Of a training step: the time over NoPE's at 80 and at 512 tokens, from the closer record where it is in that."""
    figures = costs(TARGETS).get(name) or costs().get(name, [])
    return " / ".join(f"{figure['times_first']:.2f}" for figure in figures) or "–"


def arguments(name: str) -> str:
    """Its own, with their defaults."""
    takes = plugins.parameters(plugins.find("encodings", name))
    shared = () if laws.is_attention(name) else laws.COMMON
    own = [p for p in takes.values() if p.name not in (*plugins.CONTEXT["encodings"], *shared)]
    return (
        ", ".join(
            p.name if p.default is inspect.Parameter.empty else f"{p.name}={p.default}" for p in own
        )
        or "–"
    )


def source(name: str) -> str:
    """The first paper that its file names."""
    link = re.search(
        r"https://arxiv\.org/abs/([\d.]+\d)", inspect.getmodule(type(built(name))).__doc__ or ""
    )
    return (
        f"[{link[1]}]({link[0]})"
        if link and "No paper:" not in (inspect.getmodule(type(built(name))).__doc__ or "")
        else "–"
    )
