import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.ops import alibi_slopes
from tests import reference
from tests.encodings import codes

SENSITIVE = {"learn_slopes": (False, True), "form": ("symmetric", "asymmetric")}
REFUSALS = [
    (dict(form="causal", bidirectional=True), "'causal' would favor the future"),
]


@pytest.mark.parametrize("heads", [1, 2, 4, 6, 8, 12, 16, 20])
def test_slopes_agree_with_reference_for_any_head_count(heads):
    np.testing.assert_allclose(
        alibi_slopes(heads), reference.entry("alibi_slopes")["value"][str(heads)], rtol=1e-6
    )


@pytest.mark.parametrize("heads", [6, 12])
def test_slopes_are_also_those_of_mpt_where_heads_are_no_power_of_two(heads):
    """Values of Hugging Face's build_mpt_alibi_tensor."""
    expected = reference.entry("alibi_slopes_mpt")["value"][f"hf_mpt_{heads}"]
    np.testing.assert_allclose(alibi_slopes(heads), expected, rtol=1e-6)


FORMS = {
    "symmetric": "alibi_bias_symmetric_h2_L5",
    "asymmetric": "alibi_bias_asymmetric_deepmind_h2_L5",
}


@codes.every_form
@pytest.mark.parametrize(("form", "entry"), FORMS.items())
def test_bias_agrees_with_reference(form, entry, compute):
    t = compute.tokens(range(5))
    reference.assert_agrees(compute.hook(ALiBi(num_heads=2, form=form), "bias")(t, t)[0], entry)


def test_learned_slopes_start_from_the_papers_and_stay_positive():
    t, encoding = codes.tokens(range(5)), ALiBi(num_heads=3, learn_slopes=True)
    np.testing.assert_allclose(encoding.bias(t, t), ALiBi(num_heads=3).bias(t, t), rtol=1e-6)
    encoding.log_slopes[...] = jnp.asarray([-3.0, 0.0, 2.0])
    np.testing.assert_allclose(
        encoding.bias(t, t)[0, :, 4, 1], -3 * np.exp([-3.0, 0.0, 2.0]), rtol=1e-6
    )


def test_one_query_agrees_with_reference():
    bias = ALiBi(num_heads=2).bias(codes.tokens([4]), codes.tokens(range(5)))
    reference.assert_agrees(bias[0], "alibi_bias_decode_h2_q1_k5")


def test_causal_form_is_the_signed_distance():
    bias = ALiBi(num_heads=2, form="causal").of_offset(jnp.asarray([-3, 0, 2]))
    np.testing.assert_allclose(bias, [[-3 / 16, 0, 2 / 16], [-3 / 256, 0, 2 / 256]])


def test_fractions_of_positions_have_fractions_of_the_penalty():
    np.testing.assert_allclose(ALiBi(num_heads=1).of_offset(jnp.asarray([-0.5]))[0], [-0.5 / 256])
