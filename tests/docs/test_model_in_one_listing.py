"""The model in one listing, on the page of the architecture, has the logits of the core."""

import re
from pathlib import Path

import jax
import numpy as np
import pytest
from flax import nnx

from pe_lab.model.transformer import Transformer
from tests import models

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def code_of_page():
    """The names that the first program of the page defines."""
    program = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    exec(program.group(1), names)
    return names


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["sinusoidal", "rope", "alibi", "nope"])
@pytest.mark.parametrize("architecture", ["decoder", "encoder_decoder"])
def test_the_page_has_the_logits_of_the_core(architecture, encoding):
    model = models.settings(encoding)
    transformer = Transformer(model, models.VOCABULARIES[architecture], key=jax.random.key(0))
    graph, start = nnx.split(transformer)
    params = models.moved(nnx.to_pure_dict(start))
    tokens = models.random_tokens(1, 9)
    source = None
    if architecture == "encoder_decoder":
        source = models.random_tokens(1, 7, size=9)
    streams = [models.stream(x) for x in (tokens, source) if x is not None]
    core = models.run(nnx.merge(graph, params), *streams)[0]

    float64 = jax.tree.map(lambda x: np.asarray(x, np.float64), params)
    page = code_of_page()["transformer"]
    read = None if source is None else np.asarray(source[0])
    found = page(float64, np.asarray(tokens[0]), model.num_heads, encoding, read)
    assert np.abs(found).max() > 1
    np.testing.assert_allclose(found, core, atol=2e-5)
