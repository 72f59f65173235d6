import jax
import numpy as np
import pytest
from flax import nnx

from pe_lab.diagnostics.trained import inputs
from pe_lab.diagnostics.trained.bench import Bench
from pe_lab.diagnostics.trained.terms import TERMS
from pe_lab.diagnostics.trained.watch import watched
from pe_lab.training import step
from tests import models, tiny
from tests.diagnostics.trained.looked_at import finished

READ = models.stream(models.random_tokens(2, 6))


@pytest.mark.parametrize(
    "changes",
    [dict(), dict(norm="rms", qk_norm=True), dict(norm_position="post", scale_embeddings=False, qk_norm=True)],
    ids=["layer", "rms", "post"],
)
def test_the_parts_of_token_and_code_sum_to_the_queries_and_keys_that_attention_reads(changes):
    model = models.build("sinusoidal", "learned", num_layers=1, **changes)
    model = nnx.merge(nnx.graphdef(model), models.moved(models.params(model)))
    parts = inputs.token_and_code(model.decoder, READ)
    np.testing.assert_allclose(parts[0] + parts[1], model.decoder.embed(READ.tokens, READ.positions[0]), atol=1e-6)
    split = {which: inputs.projected(model.decoder, parts, which) for which in ("query", "key")}
    layer = watched(model, READ, None)[1].attended["decoder"][0]
    for which, whole in (("query", layer.q), ("key", layer.k)):
        np.testing.assert_allclose(split[which][0] + split[which][1], whole, atol=1e-5)
        assert np.abs(split[which][1]).max() > 0.01


def test_before_training_tokens_and_codes_are_as_orthogonal_as_random_directions():
    found = inputs.numbers(bench := Bench(finished("sinusoidal"), [5]), 5)(bench.params)
    assert found["rms of token"] == pytest.approx(1, abs=0.15)
    assert found["rms of code"] == pytest.approx(0.5**0.5)
    assert found["rms cosine"] == pytest.approx(found["rms cosine of random directions"], rel=0.3)
    assert sum(found["four terms"][term] for term in TERMS) == pytest.approx(1)


def test_a_code_of_scale_zero_has_no_part_and_a_large_one_all():
    def shares(scale):
        bench = Bench(finished({"name": "sinusoidal", "scale": scale}), [5])
        return inputs.numbers(bench, 5)(bench.params)["four terms"]

    assert shares(0.0) == pytest.approx({"cc": 1, "cp": 0, "pc": 0, "pp": 0})
    assert shares(1e4)["pp"] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("encodings", "why"),
    [(("sinusoidal", "rope"), None), (("rope",), inputs.NONE), (({"name": "sinusoidal", "combine": "multiply"},), inputs.OTHERS)],
)
def test_what_is_not_added_cannot_be_taken_apart(encodings, why):
    assert inputs.why_not(step.setup(tiny.run(*encodings))) == why


def test_the_sink_token_has_no_place_among_them():
    bench = Bench(finished("sinusoidal", model__sink_token=True), [3])
    assert jax.tree.all(jax.tree.map(np.isfinite, inputs.numbers(bench, 3)(bench.params)))
