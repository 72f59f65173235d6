"""Faster forms of parts of the forward pass, and the choice between them and the reference.

The reference is plain JAX, as the papers state it. `choose` is called in training/setup.py only.
Every faster form is checked against the reference form by one law of the tests.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

import jax

from pe_lab.encodings.base import AttentionEncoding


@dataclasses.dataclass(frozen=True)
class Kernels:
    """Implementations of the parts of a forward pass; the defaults are the reference.

    Attributes:
      hook: (encoding, name of a hook) -> the function that computes it.
      attention: (q, k, v, mask, bias, scale) -> softmax attention; None: logits, softmax and sum
        are written out.
      add_bias: (logits, bias) -> their sum.
      dot_general: the product of tokens with a matrix.
      microbatches: the gradient of a step is a sum over parts of its batch.
    """

    hook: Callable[[AttentionEncoding, str], Callable] = getattr
    attention: Callable[..., Any] | None = None
    add_bias: Callable[..., Any] = jax.numpy.add
    dot_general: Callable[..., Any] = jax.lax.dot_general
    microbatches: bool = False


REFERENCE = Kernels()


def choose(kernels: Literal["auto", "reference"], platform: str) -> Kernels:
    """The implementations for a platform ("cpu", "cuda", "tpu", …), or the reference."""
    if kernels == "reference":
        return REFERENCE
    if platform == "cpu":
        return _cpu()
    return _accelerator()


def _cpu() -> Kernels:
    from pe_lab.kernels import attention_cpu, encodings, products

    return Kernels(
        hook=encodings.cpu_hook,
        attention=attention_cpu.attention,
        add_bias=attention_cpu.add_bias,
        dot_general=products.dot_general,
        microbatches=True,
    )


def _accelerator() -> Kernels:
    from pe_lab.kernels import attention_fused, encodings

    return Kernels(hook=encodings.accelerator_hook, attention=attention_fused.attention)
