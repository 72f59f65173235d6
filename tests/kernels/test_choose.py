"""Which implementations a platform gets, and which encodings have a faster form."""

import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab import kernels
from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.base import AttentionEncoding, OffsetBias
from pe_lab.encodings.dape import DAPE
from pe_lab.encodings.rope import RoPE
from pe_lab.encodings.t5_bias import T5Bias
from pe_lab.encodings.transformer_xl import TransformerXL
from pe_lab.kernels import (
    attention_cpu,
    attention_fused,
    biases_cpu,
    diagonals,
    microbatches,
    products,
    whole_batch,
)
from pe_lab.kernels.encodings import FORMS, accelerator_hook, cpu_hook, hook
from tests.encodings import codes, laws

PLATFORMS = ("cpu", "cuda", "tpu")


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_reference_is_the_same_on_every_platform(platform):
    assert kernels.choose("reference", platform) is kernels.REFERENCE
    assert kernels.REFERENCE.attention is None
    assert kernels.REFERENCE.hook is getattr
    assert kernels.REFERENCE.value_and_grad is whole_batch.value_and_grad
    assert kernels.REFERENCE.summed is whole_batch.summed


def test_a_cpu_has_its_own_attention_products_and_microbatches():
    cpu = kernels.choose("auto", "cpu")
    assert (cpu.hook, cpu.attention, cpu.add_bias) == (
        cpu_hook,
        attention_cpu.attention,
        biases_cpu.add_bias,
    )
    assert cpu.dot_general is products.dot_general
    assert (cpu.value_and_grad, cpu.summed) == (microbatches.value_and_grad, microbatches.summed)


def test_members_that_train_as_one_batch_have_no_microbatches():
    cpu = kernels.choose("auto", "cpu").with_whole_batches()
    assert (cpu.value_and_grad, cpu.summed) == (whole_batch.value_and_grad, whole_batch.summed)
    assert cpu.attention is attention_cpu.attention


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_an_accelerator_has_fused_attention_and_jaxs_products(platform):
    accelerator = kernels.choose("auto", platform)
    assert (accelerator.hook, accelerator.attention) == (
        accelerator_hook,
        attention_fused.attention,
    )
    assert accelerator.dot_general is kernels.REFERENCE.dot_general
    assert accelerator.value_and_grad is whole_batch.value_and_grad
    assert accelerator.summed is whole_batch.summed


@pytest.mark.parametrize("cls", FORMS, ids=lambda cls: cls.__name__)
def test_a_faster_form_is_that_of_a_hook_which_the_class_computes(cls):
    own = laws.hooks(cls)
    assert set(FORMS[cls]) <= set(own)


def test_an_encoding_without_a_faster_form_keeps_its_hooks():
    rope = RoPE(head_dim=4)
    assert hook(diagonals.CPU, rope, "transform_qk") == rope.transform_qk


def test_a_subclass_gets_its_own_equation():
    """It may change the equation that the faster form computes."""

    class Doubled(TransformerXL):
        def content_bias(self, q, k, Q, K):
            return 2 * super().content_bias(q, k, Q, K)

    encoding = Doubled(width=8, num_heads=2, head_dim=4, rngs=codes.rngs())
    assert hook(diagonals.CPU, encoding, "content_bias") == encoding.content_bias


def test_a_bias_of_offsets_that_overrides_bias_itself_gets_its_own_equation():
    class Halved(ALiBi):
        def bias(self, Q, K):
            return super().bias(Q, K) / 2

    t, encoding = codes.tokens(range(4), arange=True), Halved(num_heads=2)
    for fast in (cpu_hook, accelerator_hook):
        np.testing.assert_array_equal(
            fast(encoding, "bias")(t, t), ALiBi(num_heads=2).bias(t, t) / 2
        )


@codes.every_kernel
@pytest.mark.parametrize(("queries", "keys"), [(6, 6), (3, 5), (5, 3)])
def test_any_bias_of_offsets_has_a_form_without_pairs(compute, queries, keys):
    """The network of offsets sees L + S - 1 numbers, and each pair gets that of its offset."""
    shapes = []

    class Cubed(OffsetBias):
        def of_offset(self, offset):
            shapes.append(offset.shape)
            return (offset**3).astype(jnp.float32)[None]

    Q, K = compute.tokens(range(queries)), compute.tokens(range(keys))
    expected = np.subtract.outer(np.arange(keys), np.arange(queries)).T ** 3
    np.testing.assert_array_equal(compute.hook(Cubed(), "bias")(Q, K)[0, 0], expected)
    assert shapes == [(queries + keys - 1,)]


@pytest.mark.slow
@codes.every_kernel
def test_dape_reads_the_faster_form_of_its_inner_bias(compute):
    """The table is read for seven offsets and not for sixteen pairs."""
    shapes = []

    class Counted(T5Bias):
        def of_offset(self, offset):
            shapes.append(offset.shape)
            return super().of_offset(offset)

    rngs = codes.rngs()
    encoding = DAPE(inner=Counted(width=8, num_heads=2, rngs=rngs), num_heads=2, rngs=rngs)
    t = compute.tokens(range(4))
    s, q = jnp.zeros((1, 2, 4, 4)), jnp.zeros((1, 4, 2, 4))
    mask = jnp.ones((1, 1, 4, 4), bool)
    fast = compute.hook(encoding, "transform_logits")(s, q, q, t, t, mask)
    np.testing.assert_allclose(fast, encoding.transform_logits(s, q, q, t, t, mask), atol=1e-6)
    assert shapes == [(7,), (1, 4, 4)]


@codes.every_kernel
def test_an_encoding_without_any_hook_has_no_bias(compute):
    t = compute.tokens(range(3))
    assert compute.hook(AttentionEncoding(), "bias")(t, t) is None
