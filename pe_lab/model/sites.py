"""The encodings of a stack, and where each of them acts.

A stack holds each encoding once. A `Site` says that an encoding acts on a layer, so one table can
serve all layers, each layer can have its own, and a layer without sites is a NoPE layer.
"""

import dataclasses
import itertools
from collections.abc import Hashable
from typing import Any

import jax
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Key

from pe_lab.encodings.base import AttentionEncoding, InputEncoding
from pe_lab.encodings.requirements import Requirements
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.runs.settings.plugin import Encoding
from pe_lab.runs.settings.settings import Model


@dataclasses.dataclass(frozen=True)
class Site:
    """Where one encoding acts.

    Attributes:
      index: of the encoding among the stack's modules.
      scheme: index of the position scheme that it reads.
      axis: the axis of positions that it reads; None: all.
      heads: the heads that it acts on; None: all.
    """

    index: int
    scheme: int = 0
    axis: int | None = None
    heads: tuple[int, ...] | None = None

    def head_mask(self, num_heads: int) -> Bool[np.ndarray, "h"] | None:
        """True at the heads that the encoding acts on; None: all."""
        if self.heads is None:
            return None
        return np.isin(np.arange(num_heads), self.heads)


LayerSites = tuple[tuple[Site, ...], ...]  # the sites of each layer


@dataclasses.dataclass(frozen=True)
class StackEncodings:
    """The encodings of a stack, and where they act.

    Attributes:
      at_input: input encodings.
      input_sites: one for each input encoding.
      in_attention: encodings in attention.
      layer_sites: sites of the encodings in attention.
    """

    at_input: tuple[InputEncoding, ...]
    input_sites: tuple[Site, ...]
    in_attention: tuple[AttentionEncoding, ...]
    layer_sites: LayerSites


def build(model: Model, stack: str, key: Key[Array, ""]) -> StackEncodings:
    """The encodings that the config gives to a stack ("encoder", "decoder" or "cross").

    Raises:
      UserError: an encoding is not defined there, or two exclude each other on a head.
    """
    at_input: list[InputEncoding] = []
    input_sites: list[Site] = []
    in_attention: list[AttentionEncoding] = []
    layers: list[list[Site]] = [[] for _ in range(model.num_layers)]
    for i, spec in enumerate(model.encodings):
        if not spec.acts_in(stack):
            continue
        # A key for each spec and copy: removing an encoding does not change the others' draws.
        spec_key = jax.random.fold_in(key, i)
        if spec.share is None:  # at the input
            site = _site(model, spec, len(at_input))
            input_sites.append(site)
            module_key = jax.random.fold_in(spec_key, 0)  # as the only copy
            module = _module(model, spec, stack, module_key)
            at_input.append(module)
            continue
        on_layers = spec.layers
        if on_layers is None:
            on_layers = tuple(range(model.num_layers))
        # A shared module serves all its layers; otherwise each layer has one.
        groups = [on_layers] if spec.share else [(layer,) for layer in on_layers]
        for copy, group in enumerate(groups):
            site = _site(model, spec, len(in_attention))
            for layer in group:
                layers[layer].append(site)
            module_key = jax.random.fold_in(spec_key, copy)
            module = _module(model, spec, stack, module_key)
            in_attention.append(module)
    for sites in layers:
        on_layer = [(site, in_attention[site.index]) for site in sites]
        _check_replaced_once(on_layer)
        _check_widths(on_layer)
    return StackEncodings(
        at_input=tuple(at_input),
        input_sites=tuple(input_sites),
        in_attention=tuple(in_attention),
        layer_sites=tuple(tuple(sites) for sites in layers),
    )


def _module(
    model: Model,
    spec: Encoding,
    stack: str,
    key: Key[Array, ""],
) -> Any:
    """One encoding, built with the sizes of the model: an input or an attention encoding."""
    of_class = plugins.find("encodings", spec.name).requirements  # type: ignore[attr-defined]
    _check_defined(spec.name, of_class, stack)
    module = plugins.build(
        "encodings",
        spec,
        width=model.width,
        num_heads=model.num_heads,
        head_dim=model.width // model.num_heads,
        num_layers=model.num_layers,
        # Cross-attention sees the whole source, so it is bidirectional, too.
        bidirectional=stack != "decoder",
        rngs=nnx.Rngs(params=key),
    )
    # Arguments may restrict where an encoding is defined.
    _check_defined(f"{spec.name} with these arguments", module.requirements, stack)
    return module


def _check_defined(name: str, needs: Requirements, stack: str) -> None:
    """Check that an encoding with these requirements is defined in a stack."""
    reason = None
    if stack == "cross" and not needs.cross:
        reason = "is not defined between two streams, so it cannot act in cross-attention"
    if stack == "encoder" and not needs.bidirectional:
        reason = "is not defined for bidirectional attention, which the encoder uses"
    if stack == "decoder" and not needs.causal:
        reason = "is not defined for causal attention, which the decoder uses"
    if reason is not None:
        raise UserError(f"{name} {reason}.")


def _site(model: Model, spec: Encoding, index: int) -> Site:
    """The site of the module with an index. Scheme 0 is the study's; the others follow it."""
    scheme = 0
    if spec.positions is not None:
        scheme = 1 + model.schemes.index(spec.positions)
    heads = spec.heads
    if heads is not None and len(heads) == model.num_heads:
        heads = None  # all heads: the program needs no masks of heads
    return Site(index, scheme, spec.axis, heads)


def _check_replaced_once(encodings: list[tuple[Site, AttentionEncoding]]) -> None:
    """Check that on each head at most one encoding replaces each part of attention."""
    for part in ("normalize", "combine"):
        replacing = [(site, e) for site, e in encodings if part in e.requirements.replaces]
        for (site, one), (other_site, other) in itertools.combinations(replacing, 2):
            if _share_heads(site.heads, other_site.heads):
                both = f"{type(one).__name__} and {type(other).__name__}"
                raise UserError(f"{both} cannot act on one layer: each has its own {part}.")


def _check_widths(encodings: list[tuple[Site, AttentionEncoding]]) -> None:
    """Check that encodings that were built for one head width get queries and keys of it."""
    for (site, one), (later_site, later) in itertools.combinations(encodings, 2):
        if not one.requirements.widens_qk or not _share_heads(site.heads, later_site.heads):
            continue
        # The default of the hook changes nothing, at any width.
        transforms = type(later).transform_qk is not AttentionEncoding.transform_qk
        if transforms and later.head_dim is not None:
            name, later_name = type(one).__name__, type(later).__name__
            raise UserError(
                f"{later_name} cannot act after {name} on the same heads: {name} makes queries "
                f"and keys wider, and {later_name} is built for one head width."
            )


def _share_heads(
    one: tuple[int, ...] | None,
    other: tuple[int, ...] | None,
) -> bool:
    """Whether two encodings act on a common head; None: all heads."""
    if one is None or other is None:
        return one != () and other != ()
    return not set(one).isdisjoint(other)


def shifted(layers: LayerSites, by: int) -> LayerSites:
    """Sites whose modules come after `by` others."""

    def shift(site: Site) -> Site:
        return dataclasses.replace(site, index=site.index + by)

    return tuple(tuple(shift(site) for site in sites) for sites in layers)


def is_encoding(path: tuple[Hashable, ...]) -> bool:
    """Whether a path into the parameters belongs to an encoding."""
    # A part is a name, or an object of JAX that holds one.
    names = {str(getattr(part, "key", part)) for part in path}
    return not names.isdisjoint(("input_encodings", "attention_encodings"))
