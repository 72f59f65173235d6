import jax.numpy as jnp

from pe_lab.contrib.laws.subjects import Subject
from pe_lab.encodings.base import AttentionEncoding
from pe_lab.encodings.nope import NoPE
from tests import models
from tests.encodings import codes, laws

# In one layer the order of earlier keys has no effect.
NEEDS_TWO_LAYERS = True
SENSITIVE: dict = {}


def test_it_is_the_base_class_with_requirements():
    own = {k for k in vars(NoPE) if not k.startswith("_")}
    assert own == {"requirements"}
    assert issubclass(NoPE, AttentionEncoding)
    assert NoPE().requirements.replaces == ()


def test_it_adds_nothing():
    encoding, t = NoPE(), codes.tokens([0, 5, 9])
    q = jnp.ones((1, 3, 2, 4))
    assert encoding.transform_qk(q, q, t, t)[0] is q
    assert encoding.bias(t, t) is None
    assert encoding.mask(t, t) is None


def test_a_model_without_encodings_is_the_same_model():
    models.assert_close(Subject(laws.spec("nope")).logits(), Subject(()).logits(), 0)
