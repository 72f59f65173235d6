import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.inspection import logit_scale
from tests import models


@pytest.fixture(scope="module")
def measured():
    model = models.settings(width=64, num_layers=1)
    widths = (4, 64)
    return {
        (width, scaled): logit_scale.measure(model, width, scale_logits=scaled)
        for width in widths
        for scaled in (True, False)
    }


def test_logits_have_unit_variance_with_the_scale_and_that_of_the_head_width_without(measured):
    for width in (4, 64):
        scaled, plain = measured[width, True], measured[width, False]
        assert scaled.variance == pytest.approx(1, rel=0.25)
        assert plain.variance == pytest.approx(width * scaled.variance, rel=1e-4)


def test_only_without_the_scale_wide_heads_saturate(measured):
    assert measured[64, True].entropy == pytest.approx(measured[4, True].entropy, abs=0.05)
    assert measured[64, True].jacobian == pytest.approx(measured[4, True].jacobian, rel=0.2)
    assert measured[64, False].entropy < 0.5 * measured[64, True].entropy


def test_the_derivative_of_softmax_by_hand():
    """Half and half: 0.25 in each of four places. All on one key: no derivative is left."""
    weights = jnp.asarray([[0.5, 0.5], [1.0, 0.0]])[None, None]
    np.testing.assert_allclose(logit_scale._softmax_jacobian(weights)[0, 0], [0.5, 0.0], atol=1e-6)
