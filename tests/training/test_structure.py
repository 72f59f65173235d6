"""Schemes with several axes, or that follow what a task says of its tokens, on their way to the
model.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.model.decode import extend, start
from pe_lab.runs.errors import UserError
from pe_lab.runs.records.evaluation_points import EvaluationPoint
from pe_lab.training import exposure, step
from pe_lab.training.batches import add_positions
from pe_lab.training.build import build_setup
from pe_lab.training.checks import out_of_reach
from pe_lab.training.evaluate import Evaluator
from pe_lab.training.state import initial_state
from tests import models, tiny
from tests.marks import full

BIPE = ({"name": "learned", "max_positions": 16, "axis": 0}, {"name": "rope", "axis": 1})


def read(run, train=True, offset=0):
    made = build_setup(run)
    return add_positions(
        made, *step.draw(made, jax.random.key(3), jnp.asarray(0)), train=train, offset=offset
    )


@pytest.mark.slow
def test_a_decoders_copies_share_the_position_of_what_they_copy():
    run = tiny.run("rope", positions={"name": "coupled", "max_position": 20}, train__min_length=3)
    stream = read(run)[1]["decoder"]
    at, start = np.asarray(stream.positions[0][0]), np.asarray(stream.positions[0][0][:, :1])
    np.testing.assert_array_equal(at - start, np.broadcast_to([0, 1, 2, 3, 0, 1, 2, 3], at.shape))
    assert len(np.unique(start)) > 2  # drawn for each example
    np.testing.assert_array_equal(read(run, train=False)[1]["decoder"].positions[0][0][:, 0], 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coupled", "abacus"])
def test_the_streams_of_an_encoder_decoder_share_their_draw(name):
    arguments = {"max_position": 20} if name == "coupled" else {}
    run = tiny.run(
        "rope",
        positions={"name": name, **arguments},
        layout__name="encoder_decoder",
        train__min_length=3,
    )
    _, streams = read(run)
    np.testing.assert_array_equal(
        streams["decoder"].positions[0][0][:, 1:], streams["encoder"].positions[0][0]
    )


@pytest.mark.slow
def test_positions_of_two_axes_reach_the_encodings_of_each_axis_and_an_offset_both():
    """BiPE: a learned code of the place inside the prompt or the target, RoPE between the two."""
    run = tiny.run(*BIPE, positions={"name": "two_stream"}, train__min_length=3)
    stream = read(run)[1]["decoder"]
    assert np.asarray(stream.positions[0][0][0]).tolist() == [
        [0, 0],
        [1, 0],
        [2, 0],
        [3, 0],
        [0, 1],
        [1, 1],
        [2, 1],
        [3, 1],
    ]
    shifted = read(run, offset=5)[1]["decoder"].positions
    np.testing.assert_array_equal(shifted[0], stream.positions[0] + 5)
    made = build_setup(run)
    model = made.model(jax.tree.map(jnp.asarray, initial_state(made, tiny.members({})).params | {}))
    model = jax.tree.map(lambda leaf: leaf[0], model)
    base = models.run(model, stream)
    for axis in range(2):
        moved = jnp.asarray(stream.positions[0]).at[..., -1, axis].add(1)
        assert np.abs(models.run(model, models.stream(stream.tokens, moved)) - base).max() > 1e-4


ONE_AXIS_A_HEAD = tuple(dict(name="rope", axis=axis, heads=(axis,)) for axis in range(2))


@pytest.mark.slow
@pytest.mark.parametrize("encodings", [("mrope",), ONE_AXIS_A_HEAD], ids=["mrope", "heads"])
def test_a_copied_page_is_six_positions_after_its_prompt_on_all_axes(encodings):
    """A page of two letters and an image of 2 x 3 advances by 5, and the separator by 1."""
    run = tiny.run(
        *encodings,
        positions={"name": "multimodal"},
        task={"name": "copy_page", "num_symbols": 4},
        train__min_length=2,
        evaluate__lengths=(2, 3),
        train__max_length=2,
        evaluate__curve_lengths=(2,),
    )
    positions = np.asarray(read(run)[1]["decoder"].positions[0][0])  # [B, L, 3]
    prompt, separator, target = positions[:, 1:9], positions[:, 9], positions[:, 10:18]
    np.testing.assert_array_equal(separator, 6)
    np.testing.assert_array_equal(target - prompt[:, : target.shape[1]], 6)
    times = np.sort(prompt[..., 0], axis=1)
    assert (np.diff(times, axis=1) == 0).sum(axis=1).tolist() == [5] * len(times)  # one image


@pytest.mark.slow
def test_decoding_from_a_cache_equals_the_full_forward_on_two_axes():
    model = models.build(*BIPE)
    tokens = models.random_tokens(2, 6)
    positions = jnp.asarray([[[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]]])[None]
    full = models.run(model, models.stream(tokens, positions))
    prefill, cache = extend(
        model, start(model, (positions,), 2), tokens[:, :3], jnp.ones((2, 3), bool)
    )
    rest = models.decode(model, cache, tokens[:, 3:], jnp.ones((2, 3), bool))
    models.assert_close(full, np.concatenate([prefill, rest], axis=1))


@pytest.mark.slow
def test_examples_packed_without_a_document_mask_count_anew_under_packed():
    run = tiny.run(
        "rope",
        positions={"name": "packed"},
        layout__examples_per_context=2,
        layout__document_mask=False,
        train__min_length=3,
    )
    stream = read(run)[1]["decoder"]
    assert stream.segments is None
    np.testing.assert_array_equal(
        stream.positions[0][0], np.broadcast_to([*range(8), *range(8)], (8, 16))
    )


@pytest.mark.slow
def test_a_model_of_two_axes_is_evaluated():
    made = build_setup(tiny.run(*BIPE, positions={"name": "two_stream"}))
    evaluator = Evaluator(made, (3,), lambda f, *_: jax.jit(f))
    (found,) = evaluator.measure(
        initial_state(made, tiny.members({})).params, EvaluationPoint("test", 3, 0), 16
    )
    targets = found.sums.metrics["negative_log_likelihood"].weight
    assert (targets, found.sums.not_finite) == (64, 0)  # 16 examples of 3 symbols and an end
    assert found.scale_ratio.shape == (1,)


@pytest.mark.slow
def test_a_table_of_places_inside_a_part_needs_rows_for_the_longest_part_only():
    """BEGIN and three symbols; SEPARATOR, three symbols: four places each."""

    def bipe(rows, **changes):
        return tiny.run(
            {"name": "learned", "max_positions": rows, "axis": 0},
            positions={"name": "two_stream"},
            **changes,
        )

    build_setup(bipe(4, evaluate__lengths=(2, 3)))
    with pytest.raises(
        UserError,
        match=r"learned has positions 0\.\.2; length 3 asks for position 3: training there",
    ):
        build_setup(bipe(3))
    assert (
        out_of_reach(build_setup(bipe(4)), 5, 0)
        == "learned has positions 0..3; length 5 asks for position 5"
    )
    made = build_setup(bipe(8, layout__examples_per_context=2, layout__document_mask=False))
    assert exposure.context_lengths(made, 3, train=True) == {"decoder": 16}
    assert exposure.largest_position(made, made.placements[0], 3, train=True) == 3
    assert exposure._largest_test_position(made, 3) == 3  # fewer than tokens


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["decoder", full("encoder"), full("encoder_decoder")])
def test_parts_are_those_of_the_layouts_structure(layout):
    made = build_setup(tiny.run("rope", layout__name=layout, train__min_length=3))
    batch, *_ = add_positions(made, *step.draw(made, jax.random.key(0), jnp.asarray(0)), train=True)
    found = made.layout.parts(made.task, 3)
    for stack, structure in zip(
        found, [s for s in (batch.source_structure, batch.structure) if s is not None], strict=True
    ):
        lengths = np.unique(np.asarray(structure["parts"])[0], return_counts=True)[1]
        assert lengths.tolist() == list(found[stack])


@pytest.mark.parametrize(
    ("encoding", "scheme", "sentence"),
    [
        (
            {"name": "rope"},
            "two_stream",
            (
                r"rope reads positions of one axis, the scheme two_stream gives 2 axes: choose "
                r"one, dict\(name='rope', axis=0\)"
            ),
        ),
        ({"name": "sinusoidal"}, "two_stream", "sinusoidal reads positions of one axis"),
        (
            {"name": "axial_rope"},
            "contiguous",
            r"axial_rope reads positions of 2 axes, the scheme contiguous gives one axis\.",
        ),
        (
            {"name": "rope", "axis": 0},
            "contiguous",
            "rope cannot act on axis 0 of positions: the scheme contiguous gives one axis",
        ),
        (
            {"name": "learned", "axis": 2},
            "two_stream",
            "learned cannot act on axis 2 of positions: the scheme two_stream gives 2 axes",
        ),
        (
            {"name": "axial_rope", "axis": 1},
            "two_stream",
            "axial_rope cannot act on axis 1 of positions: it reads 2 axes",
        ),
    ],
)
def test_encodings_and_schemes_that_do_not_fit_are_refused(encoding, scheme, sentence):
    with pytest.raises(UserError, match=sentence):
        build_setup(tiny.run(encoding, positions={"name": scheme}))


@pytest.mark.slow
def test_what_reads_lengths_takes_one_example_a_context_and_tells_the_targets_length():
    dynamic = {"name": "rope", "scaling": "dynamic_ntk", "factor": 2.0, "trained_length": 4}
    with pytest.raises(
        UserError,
        match=(
            r"rope reads an example's length with these arguments, so "
            r"config\.layout\.examples_per_context must be 1"
        ),
    ):
        build_setup(tiny.run(dynamic, layout__examples_per_context=2))
    assert exposure.reveals_target_length(build_setup(tiny.run(dynamic)))
    assert not exposure.reveals_target_length(build_setup(tiny.run("rope")))


def test_what_reads_no_positions_takes_any_axes():
    build_setup(tiny.run("fox", positions={"name": "two_stream"}))
