"""The product of tokens with a matrix: that of JAX, and its gradient."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.kernels import products

LAST_WITH_FIRST = (((2,), (0,)), ((), ()))


@pytest.mark.slow
@pytest.mark.parametrize(("width", "into"), [(4, 9), (9, 4), (5, 5)])
def test_it_and_its_gradient_are_jaxs(width, into):
    x, w, weights = (
        jax.random.normal(jax.random.key(i), s)
        for i, s in enumerate([(2, 3, width), (width, into), (2, 3, into)])
    )

    def found(product):
        return jax.value_and_grad(
            lambda x, w: (product(x, w, LAST_WITH_FIRST) * weights).sum(), argnums=(0, 1)
        )(x, w)

    (value, slopes), (expected, expected_slopes) = map(
        found, (products.dot_general, jax.lax.dot_general)
    )
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    for ours, theirs in zip(slopes, expected_slopes, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_another_product_is_left_to_jax():
    x = jnp.arange(6.0).reshape(2, 3)
    numbers = (((0,), (0,)), ((), ()))
    np.testing.assert_array_equal(
        products.dot_general(x, x, numbers, precision="highest"), jax.lax.dot_general(x, x, numbers)
    )
