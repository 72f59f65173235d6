"""Arguments and architectures that an encoding refuses, in one sentence.

The test file of a member declares REFUSALS: pairs of arguments and the pattern of the message.
"""

import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from tests import models
from tests.encodings import laws
from tests.encodings.codes import rngs

SIZES = dict(width=16, num_heads=2, head_dim=8, num_layers=2, bidirectional=False)
NAMES = plugins.names("encodings")
CAUSAL = [name for name in NAMES if not laws.requirements(name).bidirectional]
CASES = [
    pytest.param(name, arguments, sentence, id=f"{name}-{arguments}")
    for name in NAMES
    for arguments, sentence in getattr(laws.own_tests(name), "REFUSALS", ())
]


@pytest.mark.parametrize(("name", "arguments", "sentence"), CASES)
def test_a_constructor_refuses_arguments_that_make_no_sense(name, arguments, sentence):
    """By the class, as a user's program calls it."""
    cls = plugins.find("encodings", name)
    sizes = {key: size for key, size in SIZES.items() if key in plugins.parameters(cls)}
    spec = laws.spec(name, **arguments)
    del spec["name"]
    with pytest.raises(ValueError, match=sentence):
        cls(**{**sizes, **spec}, rngs=rngs())


@pytest.mark.parametrize(
    "name", [name for name in NAMES if not laws.requirements(name).bidirectional]
)
def test_a_causal_encoding_is_refused_in_an_encoder(name):
    with pytest.raises(UserError, match=f"^{name} is not defined for bidirectional attention"):
        models.build(laws.spec(name), architecture="encoder")
