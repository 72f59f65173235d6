"""Faster forms of parts of the forward pass, and the choice between them and the reference.

The reference is plain JAX, as the papers state it. `choose` is called in training/setup.py.
Every faster form is checked against the reference form by one law of the tests.
"""

import dataclasses
from collections.abc import Callable
from typing import Literal, Protocol, runtime_checkable

import jax
from jaxtyping import Array, Bool, Float, PyTree

from pe_lab.encodings.base import AttentionEncoding
from pe_lab.kernels import whole_batch
from pe_lab.kernels.microbatches import Divisible, Shared, ValueAndGrad


@runtime_checkable
class SoftmaxAttention(Protocol):
    """Softmax attention over the visible keys; a query that sees no key gets zeros.

    With `causal`, there are as many keys as queries, and the mask hides every later key.
    """

    def __call__(
        self,
        q: Float[Array, "b l h f"],
        k: Float[Array, "b s h f"],
        v: Float[Array, "b s h e"],
        mask: Bool[Array, "_ _ l s"],
        bias: Float[Array, "_ _ l s"] | None = None,
        scale: float = 1.0,
        causal: bool = False,
    ) -> Float[Array, "b l h e"]: ...


@runtime_checkable
class AddBias(Protocol):
    """The sum of logits and a bias, which examples or heads may share."""

    def __call__(
        self, s: Float[Array, "b h l s"], bias: Float[Array, "_ _ l s"], /
    ) -> Float[Array, "b h l s"]: ...


@runtime_checkable
class CutBias(Protocol):
    """The first tokens of a stored bias, as attention reads it."""

    def __call__(
        self, bias: Float[Array, "_ _ _ _"], num_queries: int, num_keys: int
    ) -> Float[Array, "_ _ l s"]: ...


@runtime_checkable
class LossAndGradient(Protocol):
    """The function of a batch's loss and gradient, for a loss that is a sum over examples."""

    def __call__(
        self,
        loss: Callable[[PyTree, Divisible, Shared | None], Array],
        shared: Callable[[PyTree, Divisible], tuple[Shared, Shared]],
        *,
        least: int = 0,
    ) -> ValueAndGrad: ...


@runtime_checkable
class Summed(Protocol):
    """The sum of a function over the examples of a batch."""

    def __call__(
        self, f: Callable[[Divisible], PyTree], batch: Divisible, *, least: int = 0
    ) -> PyTree: ...


def _first_tokens(
    bias: Float[Array, "_ _ _ _"], num_queries: int, num_keys: int
) -> Float[Array, "_ _ l s"]:
    return bias[:, :, :num_queries, :num_keys]


def _as_it_is(bias: Float[Array, "_ _ l s"]) -> Float[Array, "_ _ _ _"]:
    return bias


@dataclasses.dataclass(frozen=True)
class Kernels:
    """Implementations of the parts of a forward pass; the defaults are the reference.

    Attributes:
      hook: (encoding, name of a hook) -> the function that computes it.
      attention: None: logits, softmax and sum are written out.
      stored_bias: a bias [B|1, H|1, L, S] as micro-batches share it, which `cut_bias` reads.
      dot_general: the product of tokens with a matrix.
    """

    hook: Callable[[AttentionEncoding, str], Callable] = getattr
    attention: SoftmaxAttention | None = None
    add_bias: AddBias = jax.numpy.add
    stored_bias: Callable[[Float[Array, "_ _ l s"]], Float[Array, "_ _ _ _"]] = _as_it_is
    cut_bias: CutBias = _first_tokens
    dot_general: Callable[..., Array] = jax.lax.dot_general  # with all its options
    value_and_grad: LossAndGradient = whole_batch.value_and_grad
    summed: Summed = whole_batch.summed

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
    from pe_lab.kernels import attention_cpu, biases_cpu, encodings, microbatches, products

    return Kernels(
        hook=encodings.cpu_hook,
        attention=attention_cpu.attention,
        add_bias=biases_cpu.add_bias,
        stored_bias=biases_cpu.stored_bias,
        cut_bias=biases_cpu.cut_bias,
        dot_general=products.dot_general,
        value_and_grad=microbatches.value_and_grad,
        summed=microbatches.summed,
    )


def _accelerator() -> Kernels:
    from pe_lab.kernels import attention_fused, encodings

    return Kernels(hook=encodings.accelerator_hook, attention=attention_fused.attention)
