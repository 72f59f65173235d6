import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.shaw import Shaw
from tests import reference
from tests.encodings import codes
from tests.encodings.codes import attend
from tests.marks import full

SENSITIVE = {"clip": (16, 3), "values": (False, True), "heads_share": (False, True)}
REFUSALS = [
    (dict(clip=0), "at least 1, got 0"),
]


@pytest.mark.slow
@codes.every_form
@pytest.mark.parametrize("rows", [1, 2])
def test_agrees_with_reference_with_one_row_of_positions_and_with_many(rows, compute):
    given, expected = (reference.entry("shaw_k2_L4_d4")[k] for k in ("inputs", "value"))
    encoding = Shaw(
        clip=2, values=True, num_heads=1, head_dim=4, bidirectional=True, rngs=codes.rngs()
    )
    encoding.key_table[...], encoding.value_table[...] = (
        jnp.asarray(given["aK"])[None],
        jnp.asarray(given["aV"])[None],
    )
    q, k, v = (
        jnp.broadcast_to(jnp.asarray(given[n])[None, :, None], (rows, 4, 1, 4)) for n in "qkv"
    )
    t = codes.tokens(range(4))
    t = t.__class__(
        jnp.broadcast_to(t.positions, (1 if compute.arange else rows, 4)),
        t.slots,
        arange=compute.arange,
    )
    everywhere = jnp.ones((1, 1, 4, 4), bool)
    np.testing.assert_array_equal(encoding.index(t, t)[0], expected["index"])
    plain = jnp.einsum("blhe,bshe->bhls", q, k) / 2
    logits = plain + compute.hook(encoding, "content_bias")(q, k, t, t)
    out = attend(encoding, q, k, v, t, t, everywhere, kernels=compute.kernels)
    for r in range(rows):
        reference.assert_agrees(logits[r, 0], "shaw_k2_L4_d4", expected["logits"])
        reference.assert_agrees(out[r, :, 0], "shaw_k2_L4_d4", expected["out"])


def test_beyond_the_clip_distances_are_one():
    t = codes.tokens([0, 3, 50])
    assert Shaw(clip=2, num_heads=1, head_dim=4, rngs=codes.rngs()).index(t, t)[0].tolist() == [
        [2, 4, 4],
        [0, 2, 4],
        [0, 0, 2],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("clip", [full(1), full(3), 9])
@pytest.mark.parametrize(("queries", "keys"), [(5, 5), (4, 7), full(7, 4), full(1, 3)])
def test_with_tables_for_each_head_it_is_the_equation_in_float64(clip, queries, keys):
    """For clips beyond and short of the longest distance, and as many queries as keys or not."""
    encoding = Shaw(
        clip=clip, values=True, num_heads=2, head_dim=3, bidirectional=True, rngs=codes.rngs()
    )
    q, k, v = (
        np.asarray(jax.random.normal(jax.random.key(i), (1, n, 2, 3)))
        for i, n in enumerate((queries, keys, keys))
    )
    of_keys, of_values = (
        np.asarray(encoding.key_table, np.float64),
        np.asarray(encoding.value_table, np.float64),
    )
    expected = np.zeros((queries, 2, 3))
    for h in range(2):
        for i in range(queries):
            row = [np.clip(j - i, -clip, clip) + clip for j in range(keys)]
            logits = np.array(
                [q[0, i, h] @ (k[0, j, h] + of_keys[h, row[j]]) for j in range(keys)]
            ) / np.sqrt(3)
            w = np.exp(logits) / np.exp(logits).sum()
            expected[i, h] = sum(w[j] * (v[0, j, h] + of_values[h, row[j]]) for j in range(keys))
    everywhere = jnp.ones((1, 1, queries, keys), bool)
    for compute in codes.FORMS.values():
        Q, K = (compute.tokens(range(n)) for n in (queries, keys))
        out = attend(
            encoding, *map(jnp.asarray, (q, k, v)), Q, K, everywhere, kernels=compute.kernels
        )
        np.testing.assert_allclose(out[0], expected, atol=1e-5)


@pytest.mark.full
@codes.every_kernel
@pytest.mark.parametrize("clip", [1, 3, 9])
def test_causal_attention_leaves_out_the_future_and_changes_nothing(clip, compute):
    q, k, v = (jax.random.normal(jax.random.key(i), (2, 6, 2, 3)) for i in range(3))
    causal = jnp.tril(jnp.ones((6, 6), bool))[None, None]
    t = compute.tokens(range(6))

    def out(bidirectional):
        encoding = Shaw(
            clip=clip,
            values=True,
            num_heads=2,
            head_dim=3,
            bidirectional=bidirectional,
            rngs=codes.rngs(),
        )
        return attend(encoding, q, k, v, t, t, causal, kernels=compute.kernels)

    np.testing.assert_allclose(out(False), out(True), atol=1e-6)


@pytest.mark.parametrize("num_heads", [1, 4, 16])
@pytest.mark.parametrize("heads_share", [False, True])
def test_initial_tables_do_not_shrink_with_the_number_of_heads(num_heads, heads_share):
    """Xavier's limit for a matrix [2 clip + 1, Dh]: sqrt(6 / (2 clip + 1 + Dh))."""
    sizes = dict(clip=16, num_heads=num_heads, head_dim=16)
    encoding = Shaw(**sizes, values=True, heads_share=heads_share, rngs=codes.rngs())
    limit = np.sqrt(6 / (33 + 16))
    for table in (encoding.key_table, encoding.value_table):
        largest = np.abs(table[...]).max()
        assert 0.98 * limit < largest <= limit
