import dataclasses
import json

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.contrib.inspection.trained import input_embeddings
from pe_lab.contrib.inspection.trained.activations import record_activations
from pe_lab.contrib.inspection.trained.examples import BatchSize, draw
from pe_lab.contrib.inspection.trained.four_terms import TERMS
from pe_lab.contrib.inspection.trained.loaded_model import LoadedModel
from pe_lab.training.build import build_setup
from tests import models, reference, tiny
from tests.contrib.inspection import tables
from tests.contrib.inspection.trained.untrained_run import finished
from tests.marks import full

RNG = np.random.default_rng(0)
READ = models.stream(models.random_tokens(2, 6))


@pytest.mark.full
@pytest.mark.parametrize(
    "changes",
    [
        dict(),
        dict(norm="rms", qk_norm=True, logit_temperature="log_n"),
        dict(norm_position="post", scale_embeddings=False, qk_norm=True),
        dict(logit_temperature="ssmax"),
        dict(scale_logits=False, shared_projections="qk"),
    ],
    ids=["layer", "rms", "post", "ssmax", "unscaled"],
)
def test_the_parts_of_token_and_code_sum_to_the_queries_and_keys_that_attention_reads(changes):
    model = models.build("sinusoidal", "learned", num_layers=1, **changes)
    model = nnx.merge(nnx.graphdef(model), models.moved(models.params(model)))
    parts = input_embeddings.token_and_embedding(model.decoder, READ)
    np.testing.assert_allclose(
        parts[0] + parts[1],
        model.decoder.embed(READ.tokens, model.decoder.position_embeddings(READ.positions)),
        atol=1e-6,
    )
    q, k = (input_embeddings.project(model.decoder, parts, which) for which in ("query", "key"))
    attention = model.decoder.blocks[0].attention
    layer = record_activations(model, {"decoder": READ})[1].attention["decoder"][0]
    for split, whole in (
        (input_embeddings.scale_by_temperature(attention, q, layer.mask), layer.q),
        (k, layer.k),
    ):
        np.testing.assert_allclose(split[0] + split[1], whole, atol=1e-5)
        assert np.abs(split[1]).max() > 0.01


@pytest.mark.full
def test_before_training_tokens_and_codes_are_as_orthogonal_as_random_directions():
    found = input_embeddings.input_parts(bench := LoadedModel(finished("sinusoidal"), [5]), 5)(
        bench.params
    )
    assert found.token_rms == pytest.approx(1, abs=0.15)
    assert found.embedding_rms == pytest.approx(0.5**0.5)
    assert found.directions.rms_cosine == pytest.approx(
        found.directions.rms_cosine_by_chance, rel=0.3
    )
    assert sum(found.terms[term] for term in TERMS) == pytest.approx(1)


def numbers(encoding, *, change=lambda params: params, **changes):
    bench = LoadedModel(finished(encoding, **changes), [3])
    return input_embeddings.input_parts(bench, 3)(change(bench.params))


@pytest.mark.full
def test_rows_of_tokens_that_no_input_holds_count_for_nothing():
    """Of a decoder padding and END, which it says and never reads."""
    made = build_setup(tiny.run())
    words = made.task.vocabulary

    def louder(*ids):
        def change(params):
            table = params["decoder"]["embedding"]["embedding"].at[np.array(ids)].multiply(100.0)
            return params | {"decoder": params["decoder"] | {"embedding": {"embedding": table}}}

        return change

    plain = numbers("sinusoidal")
    assert numbers("sinusoidal", change=louder(words.pad, words.end)) == plain
    assert numbers("sinusoidal", change=louder(words.begin)).token_rms > 2 * plain.token_rms


@pytest.mark.full
def test_codes_are_those_of_the_positions_of_all_examples_each_once(monkeypatch):
    """Two to a batch: of five examples, in the last batch one counts."""
    monkeypatch.setattr("pe_lab.contrib.inspection.trained.loaded_model._BATCH_SIZE", 2)
    random = {"positions": {"name": "randomized", "maximum": 40}}
    run = finished("raw_index", evaluate__num_examples=5, **random)
    drawn = draw(run.setup, BatchSize(3, 5), jnp.int32(3), jnp.int32(0), None).answering
    positions = np.unique(np.asarray(drawn.positions[0][0])[np.asarray(drawn.mask)])
    assert len(positions) > 10  # more than an example has
    code = np.asarray(
        run.setup.model(run.params)
        .decoder.input_encodings[0]
        .scaled_embedding(jnp.asarray(positions)[None])
    )
    found = input_embeddings.input_parts(LoadedModel(run, [3]), 3)(run.params)
    assert found.embedding_rms == pytest.approx(np.sqrt(np.square(code).mean()), rel=1e-6)


@pytest.mark.full
def test_where_no_logits_differ_the_four_terms_are_null():
    window = numbers("sinusoidal", model__sliding_window=1)
    assert set(window.terms.values()) == {None}
    assert json.dumps(dataclasses.asdict(window), allow_nan=False)


@pytest.mark.full
def test_a_code_of_scale_zero_has_no_part_and_a_large_one_all():
    def shares(scale):
        bench = LoadedModel(finished({"name": "sinusoidal", "scale": scale}), [5])
        return input_embeddings.input_parts(bench, 5)(bench.params).terms

    assert shares(0.0) == pytest.approx({"cc": 1, "cp": 0, "pc": 0, "pp": 0})
    assert shares(1e4)["pp"] == pytest.approx(1, abs=1e-3)


@pytest.mark.full
@pytest.mark.parametrize(
    ("encodings", "why"),
    [
        (("sinusoidal", "rope"), None),
        (("rope",), input_embeddings.NO_EMBEDDINGS),
        (({"name": "sinusoidal", "combine": "multiply"},), input_embeddings.NOT_ADDED),
    ],
)
def test_what_is_not_added_cannot_be_taken_apart(encodings, why):
    assert input_embeddings.why_not(build_setup(tiny.run(*encodings))) == why


@pytest.mark.parametrize(
    ("changes", "is_mixed"),
    [
        (dict(model__convolution_sites=("K",)), True),
        (dict(model__convolution_sites=("K",), model__convolution_layers=(1,)), False),
        (dict(model__convolution_sites=("O", "V")), False),
        (dict(model__key_offset=0.5), True),
        (dict(model__embedding_smear=4), True),
        (dict(model__token_shift="values"), False),
    ],
)
def test_queries_and_keys_of_the_first_layer_that_read_other_tokens_are_not_split(
    changes, is_mixed
):
    why = input_embeddings.why_not(build_setup(tiny.run("sinusoidal", **changes)))
    assert why == (input_embeddings.MIXED if is_mixed else None)


def test_a_head_whose_logits_do_not_differ_is_not_among_those_of_the_mean():
    q, k = (tuple(RNG.standard_normal((2, 4, 2, 3)) for _ in range(2)) for _ in range(2))
    for part in q:
        part[:, :, 0] = 0
    alone = tuple(part[:, :, 1:] for part in q), tuple(part[:, :, 1:] for part in k)
    every, mask = np.ones((2, 4), bool), np.ones((2, 1, 4, 4), bool)
    read = np.eye(5), np.zeros((2, 4), int), every, np.zeros((2, 4, 1)), np.ones((2, 4, 5))
    found = [input_embeddings._input_parts(*read, *sides, mask).terms for sides in ((q, k), alone)]
    assert found[0] == pytest.approx(found[1])


def test_random_directions_share_what_chance_says():
    found = input_embeddings.shared_directions(
        RNG.standard_normal((80, 144)), RNG.standard_normal((60, 144))
    )
    assert found.rms_cosine == pytest.approx(1 / 12, abs=0.002)
    assert found.rms_cosine_by_chance == 1 / 12
    assert found.overlap == pytest.approx(found.overlap_by_chance, rel=0.15)


def test_the_same_directions_are_shared_and_others_are_not():
    axes = np.eye(8)
    same, apart = (
        input_embeddings.shared_directions(axes[:4], 3 * axes[:4]),
        input_embeddings.shared_directions(axes[:4], axes[4:]),
    )
    assert (same.largest_cosine, same.overlap) == pytest.approx((1, 1))
    assert (apart.largest_cosine, apart.overlap) == pytest.approx((0, 0))
    assert apart.embedding_directions == 4


@pytest.mark.parametrize("width", [8, 64, full(512)])
def test_random_directions_are_as_orthogonal_as_the_reference_and_the_theory_say(width):
    """Of all pairs of 400: any two differ in some bit of their number."""
    known, directions, place = (
        reference.entry(f"diag_random_orthogonality_d{width}"),
        tables.drawn().directions[width],
        np.arange(400),
    )
    found = input_embeddings.shared_directions(directions, directions)
    halves = [
        input_embeddings.shared_directions(
            directions[place >> b & 1 == 0], directions[place >> b & 1 == 1]
        )
        for b in range(9)
    ]
    expected = {
        "std_cos": np.sqrt(without_itself(found.rms_cosine**2)),  # their mean is 0 to five digits
        "theory_1_over_sqrt_d": found.rms_cosine_by_chance,
        "mean_abs": without_itself(found.mean_cosine),
        "theory_mean_abs": found.mean_cosine_by_chance,
        "max_abs": max(half.largest_cosine for half in halves),
    }
    assert expected == pytest.approx(known["value"], abs=1e-6)


def without_itself(mean, count=400):
    """A mean over all pairs that holds a one for each with itself, without these."""
    return (mean * count - 1) / (count - 1)
