"""Costs of training, against figures worked by hand.

The model has width 16, two layers, 11 tokens of vocabulary and 8 tokens of context.
"""

import pytest

from pe_lab.contrib.grids import step_time
from pe_lab.training.build import build_setup
from tests.experiments.benchmarks.costed_model import BATCH, LAYER, TOKENS, WIDTH, WORDS, run

pytestmark = pytest.mark.slow
PARAMETERS = 2 * LAYER + 2 * WORDS * WIDTH + 2 * WIDTH  # both embeddings, the last norm


@pytest.fixture(scope="module")
def found():
    return step_time.measure(run(), 2)


def test_parameters_and_the_state_that_holds_them_with_two_moments(found):
    assert found["parameters"] == PARAMETERS == 3648
    assert (
        0 < found["state_bytes"] - 3 * 4 * PARAMETERS < 100
    )  # float32; the rest are counters, seeds and rates


def test_the_flops_of_a_step_are_three_times_those_of_its_forward_passes(found):
    per_token = 2 * (4 * WIDTH**2 + 2 * WIDTH**2 + 2 * TOKENS * WIDTH) + WORDS * WIDTH
    assert found["step_flops"] == 3 * BATCH * TOKENS * 2 * per_token


def test_steps_are_timed_and_compiling_is_not_among_them(found):
    assert 0 < found["seconds_per_step"] < found["compile_seconds"]
    assert found["temporary_bytes"] > found["parameters"] * 4  # the gradients at least
    assert list(found) == [
        "parameters",
        "state_bytes",
        "kept_bytes",
        "temporary_bytes",
        "step_flops",
        "compile_seconds",
        "seconds_per_step",
        "peak_flops_per_second",
        "share_of_peak",
    ]


def kept(**changes):
    return step_time._kept_bytes(build_setup(run(**changes)))


@pytest.mark.full
@pytest.mark.parametrize(("dtype", "size"), [("float32", 4), ("bfloat16", 2)])
def test_with_remat_a_layer_keeps_its_input_and_the_weights_to_compute_it_again(dtype, size):
    one, two, three = (
        kept(model__num_layers=n, model__compute_dtype=dtype, execution__remat=True)
        for n in (1, 2, 3)
    )
    weights = LAYER - WIDTH  # the bias that is added last moves nothing that a gradient needs
    assert three - two == two - one == 4 * weights + size * BATCH * TOKENS * WIDTH


@pytest.mark.full
def test_what_is_kept_shrinks_with_remat_and_with_half_the_precision(found):
    whole, half = kept(), kept(model__compute_dtype="bfloat16")
    assert found["kept_bytes"] == whole
    assert kept(execution__remat=True) < whole / 4
    assert whole / 2 < half < whole * 0.8  # weights and softmax stay float32


@pytest.mark.full
def test_what_is_kept_grows_with_the_batch():
    small, large, larger = (kept(train__batch_size=n) for n in (8, 16, 24))
    assert 0 < large - small == larger - large < small


@pytest.mark.full
def test_several_runs_are_compared_step_by_step_with_the_first(monkeypatch):
    """Times by hand: 2 s and 4 s for steps of the first run, 3 s and 8 s for those of the other.

    The machine is slower in the second turn. The first turn of each run warms up.
    """
    beside_itself, beside_rope = [9, 9, 9, 7, 2, 2, 7, 4, 4], [9, 9, 7, 2, 7, 4]
    times = {"nope": iter(beside_itself + beside_rope), "rope": iter([9, 3, 8])}
    peaks = iter([1e9, 1e9, 1e9, 1e9, 2e9, 2e9])
    monkeypatch.setattr(step_time, "peak_flops", lambda: next(peaks))
    monkeypatch.setattr(
        step_time.Program,
        "seconds",
        lambda self, number=None: next(times[self.setup.run.model.encodings[0].name]),
    )
    first, other = step_time.compare([run(), run("rope")], 2)
    assert (first["times_first"], first["times_first_quartiles"]) == (1.0, [1.0, 1.0])
    assert other["times_first"] == (3 / 2 + 8 / 4) / 2
    assert (first["seconds_per_step"], other["seconds_per_step"]) == (3.0, 5.5)
    assert other["peak_flops_per_second"] == 2e9
    assert other["share_of_peak"] == other["step_flops"] / 2e9 * (1 / 3 + 1 / 8) / 2
