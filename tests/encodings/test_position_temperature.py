import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.position_temperature import PositionTemperature
from pe_lab.encodings.rope import RoPE
from tests import reference
from tests.encodings import codes
from tests.encodings.codes import attend

# Mild: a factor of 2.6 at position 2000. With logits eight times as large, the rounding errors of
# bfloat16 are eight times as large too, at any position.
ARGUMENTS = {"start": 3, "rate": 0.25}
# In one layer the order of earlier keys has no effect.
NEEDS_TWO_LAYERS = True
SENSITIVE = {"rate": (0.25, 0.5), "start": (3, 2), "steps": (True, False)}
REFUSALS = [
    (dict(start=0), "at least 1, got 0"),
]


def factor(positions, **arguments):
    return np.asarray(PositionTemperature(**arguments).factor(jnp.asarray(positions)[None])[0])


@pytest.mark.parametrize(
    ("entry", "rate", "start", "steps"),
    [
        ("logit_scale_llama4", "attn_scale", "floor_scale", True),
        ("logit_scale_inkling", "alpha", "n_floor", False),
    ],
)
def test_agrees_with_reference(entry, rate, start, steps):
    given = reference.entry(entry)["inputs"]
    reference.assert_agrees(
        factor(given["positions"], rate=given[rate], start=given[start], steps=steps), entry
    )


def test_defaults_are_those_of_llama_4():
    given = reference.entry("logit_scale_llama4")["inputs"]
    reference.assert_agrees(factor(given["positions"]), "logit_scale_llama4")


def test_worked_by_hand():
    """Places count from one: the token at position 3 is the fourth."""
    positions = [0, 2, 3, 6, 7, 15]
    np.testing.assert_allclose(
        factor(positions, rate=2.0, start=4), 1 + 2 * np.log([1, 1, 2, 2, 3, 5]), rtol=1e-6
    )
    smooth = factor(positions, rate=2.0, start=4, steps=False)
    np.testing.assert_allclose(smooth, 1 + 2 * np.log([1, 1, 1, 7 / 4, 2, 4]), rtol=1e-6)


@pytest.mark.parametrize("start", [3, 7, 8191])
def test_steps_are_where_whole_multiples_are_to_the_last_position_of_float32(start):
    multiples = np.asarray([1, 2, 5, 2**24 // start])
    for place, more in ((start * multiples, 0), (start * multiples - 1, -1)):
        np.testing.assert_allclose(
            factor(place - 1, start=start), 1 + 0.1 * np.log(1.0 + multiples + more), rtol=1e-6
        )


@pytest.mark.slow
def test_positions_may_be_fractions():
    np.testing.assert_allclose(
        factor([2.5, 3.5, 5.0], rate=1.0, start=4), 1 + np.log([1, 2, 2]), rtol=1e-6
    )
    np.testing.assert_allclose(
        factor([2.5, 5.0], rate=1.0, start=4, steps=False), 1 + np.log([1, 1.5]), rtol=1e-6
    )


def test_negative_positions_are_before_the_start():
    """Whole and fractional, as cape draws them."""
    for positions in ([-9, -2, -1], [-9.5, -1.25, -0.5]):
        for steps in (True, False):
            found = factor(positions, start=4, steps=steps)
            np.testing.assert_array_equal(found, np.ones(3, np.float32))


@pytest.mark.slow
def test_all_of_a_querys_logits_are_multiplied_and_no_bias_is():
    q, k, v = jax.random.normal(jax.random.key(0), (3, 1, 5, 2, 8))
    T, causal = codes.tokens([0, 1, 4, 5, 9]), jnp.tri(5, dtype=bool)[None, None]
    cold, rope, alibi = PositionTemperature(start=2, rate=1.0), RoPE(head_dim=8), ALiBi(num_heads=2)
    times = cold.factor(T.positions)
    for order in ([rope, cold, alibi], [cold, rope, alibi]):
        found = attend(tuple(order), q, k, v, T, T, causal)
        np.testing.assert_allclose(
            found, attend((rope, alibi), q * times[:, :, None, None], k, v, T, T, causal), atol=1e-6
        )
    assert float(jnp.abs(found - attend((rope, alibi), q, k, v, T, T, causal)).max()) > 0.01
