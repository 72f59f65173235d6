"""Some scalings of RoPE depend on the length of an example."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.rope import RoPE
from pe_lab.model.decode import extend, start
from tests import models
from tests.encodings import codes
from tests.encodings.rope_scalings import DYNAMIC, LONGROPE, seen, told

OF_LENGTH = pytest.mark.parametrize(
    "arguments", [DYNAMIC | dict(trained_length=4), LONGROPE], ids=lambda a: a["scaling"]
)


def equation_of_length(scaling, length, trained, s, base=10000.0, r=8, long=(), short=()):
    if scaling == "dynamic_ntk":
        base = (
            base * ((s * length / trained) - (s - 1)) ** (r / (r - 2)) if length > trained else base
        )
        return [base ** (-2 * m / r) for m in range(r // 2)]
    return [base ** (-2 * m / r) / (long if length > trained else short)[m] for m in range(r // 2)]


@pytest.mark.parametrize("length", [1, 3, 4, 5, 17])
@OF_LENGTH
def test_scalings_that_read_the_length_are_their_equations(arguments, length):
    lists = (
        {}
        if arguments["scaling"] == "dynamic_ntk"
        else {k: LONGROPE[f"{k}_factors"] for k in ("long", "short")}
    )
    frequencies, growth = seen(8, length, **arguments)
    np.testing.assert_allclose(
        frequencies,
        equation_of_length(arguments["scaling"], length, 4, 4.0, **lists),
        rtol=2e-6,
        atol=2e-9,
    )
    np.testing.assert_allclose(
        growth,
        1 if arguments["scaling"] == "dynamic_ntk" else (1 + np.log(4) / np.log(4)) ** 0.5,
        rtol=1e-6,
    )


def test_dynamic_ntk_worked_by_hand():
    """Frequencies are 1 and 1/100. At twice the trained length the factor is 4 * 2 - 3 = 5."""
    frequencies, _ = seen(4, 20, scaling="dynamic_ntk", factor=4.0, trained_length=10)
    assert frequencies == pytest.approx([1, 0.01 / 5], rel=1e-6)


@pytest.mark.full
@OF_LENGTH
def test_each_example_is_rotated_by_its_own_length(arguments):
    x = jax.random.normal(jax.random.key(5), (2, 3, 1, 8))
    tokens = codes.tokens([0, 5, 9])
    both = dataclasses.replace(tokens, lengths=jnp.asarray([4, 11]))
    found = RoPE(head_dim=8, **arguments).transform_qk(x, x, both, both)[0]
    for row, length in enumerate((4, 11)):
        alone = dataclasses.replace(tokens, lengths=jnp.asarray([length]))
        expected = RoPE(head_dim=8, **arguments).transform_qk(
            x[row : row + 1], x[row : row + 1], alone, alone
        )[0]
        np.testing.assert_allclose(found[row], expected[0], atol=1e-6)


@OF_LENGTH
def test_queries_are_rotated_by_the_length_of_the_keys(arguments):
    q, k = jax.random.normal(jax.random.key(6), (2, 1, 1, 1, 8))
    products = []
    for m, of_query in ((9, 2), (9, 9), (46, 9)):
        rotated_q, rotated_k = RoPE(head_dim=8, **arguments).transform_qk(
            q, k, told([m], of_query), told([m - 3], 9)
        )
        products.append(float((rotated_q * rotated_k).sum()))
    np.testing.assert_allclose(products, products[0], atol=2e-5)


@pytest.mark.slow
@OF_LENGTH
def test_where_the_length_is_not_known_it_is_the_largest_key_position_and_one(arguments):
    x = jax.random.normal(jax.random.key(7), (1, 3, 1, 8))
    encoding = RoPE(head_dim=8, **arguments)
    unknown, known = (
        encoding.transform_qk(x, x, Q, K)
        for Q, K in ((told([1, 2, 3]), told([9, 5, 0])), (told([1, 2, 3]), told([9, 5, 0], 10)))
    )
    for a, b in zip(unknown, known, strict=True):
        np.testing.assert_array_equal(a, b)


@OF_LENGTH
def test_what_reads_the_length_says_so(arguments):
    assert RoPE(head_dim=8, **arguments).requirements.reads_length
    assert not RoPE(head_dim=8).requirements.reads_length


def decoded(num_layers, arguments):
    """Tokens, the model, and its logits after each token but the first two from the cache."""
    model, tokens = (
        models.build(dict(name="rope", **arguments), num_layers=num_layers),
        models.random_tokens(2, 7),
    )
    _, cache = extend(
        model, start(model, (jnp.arange(7)[None, None],), 2), tokens[:, :2], jnp.ones((2, 2), bool)
    )
    logits = models.decode(model, cache, tokens[:, 2:], jnp.ones((2, 5), bool))
    return tokens, model, np.asarray(logits)


@pytest.mark.full
@OF_LENGTH
def test_a_decoded_step_of_one_layer_equals_the_full_forward_of_that_prefix(arguments):
    """And, beyond the trained length, not the full forward of what comes in the end."""
    tokens, model, steps = decoded(1, arguments)
    for step in range(5):
        models.assert_close(
            steps[:, step], models.run(model, models.stream(tokens[:, : step + 3]))[:, -1]
        )
    whole = models.run(model, models.stream(tokens))
    models.assert_differs(steps[:, :-1], whole[:, 2:-1], 1e-4)


@pytest.mark.full
@OF_LENGTH
def test_deeper_layers_keep_what_they_computed_at_earlier_lengths(arguments):
    """Steps up to the trained length, 4, equal full forward passes. The steps after it differ."""
    tokens, model, steps = decoded(2, arguments)
    prefixes = np.stack(
        [models.run(model, models.stream(tokens[:, : step + 3]))[:, -1] for step in range(5)],
        axis=1,
    )
    models.assert_close(steps[:, :2], prefixes[:, :2])
    models.assert_differs(steps[:, 2:], prefixes[:, 2:], 1e-4)
