"""Faster forms of parts of the forward pass, and the choice between them and the reference.

The reference is plain JAX, as the papers state it. `choose` is called in training/setup.py only.
Every faster form is checked against the reference form by one law of the tests.
"""

import dataclasses
from collections.abc import Callable
from typing import Literal

import jax
from jaxtyping import Array, PyTree

from pe_lab.encodings.base import AttentionEncoding
from pe_lab.kernels import whole_batch
from pe_lab.kernels.microbatches import ValueAndGrad


@dataclasses.dataclass(frozen=True)
class Kernels:
    """Implementations of the parts of a forward pass; the defaults are the reference.

    Attributes:
      hook: (encoding, name of a hook) -> the function that computes it.
      attention: (q, k, v, mask, bias, scale) -> softmax attention; None: logits, softmax and sum
        are written out.
      add_bias: (logits, bias) -> their sum.
      dot_general: the product of tokens with a matrix.
      value_and_grad: (loss, shared values) -> the function of a batch's loss and gradient.
      summed: (function, batch) -> the sum of the function over the examples of the batch.
    """

    hook: Callable[[AttentionEncoding, str], Callable] = getattr
    attention: Callable[..., Array] | None = None
    add_bias: Callable[..., Array] = jax.numpy.add
    dot_general: Callable[..., Array] = jax.lax.dot_general
    value_and_grad: Callable[..., ValueAndGrad] = whole_batch.value_and_grad
    summed: Callable[..., PyTree] = whole_batch.summed

    def with_whole_batches(self) -> "Kernels":
        """The same kernels without micro-batches, whose loops cannot be batched over members."""
        return dataclasses.replace(
            self, value_and_grad=whole_batch.value_and_grad, summed=whole_batch.summed
        )


REFERENCE = Kernels()


def choose(kernels: Literal["auto", "reference"], platform: str) -> Kernels:
    """The implementations for a platform ("cpu", "cuda", "tpu", …), or the reference."""
    if kernels == "reference":
        return REFERENCE
    if platform == "cpu":
        return _cpu()
    return _accelerator()


def _cpu() -> Kernels:
    from pe_lab.kernels import attention_cpu, encodings, microbatches, products

    return Kernels(
        hook=encodings.cpu_hook,
        attention=attention_cpu.attention,
        add_bias=attention_cpu.add_bias,
        dot_general=products.dot_general,
        value_and_grad=microbatches.value_and_grad,
        summed=microbatches.summed,
    )


def _accelerator() -> Kernels:
    from pe_lab.kernels import attention_fused, encodings

    return Kernels(hook=encodings.accelerator_hook, attention=attention_fused.attention)
