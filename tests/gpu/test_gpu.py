"""On a GPU, losses, gradients and evaluations equal those of the CPU.

`make test-gpu` runs these tests on a machine that has a GPU. They fail where there is none.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs.plugins import plugins
from pe_lab.training import devices, evaluation_data, evaluation_sums, step
from pe_lab.training.build import build_setup
from pe_lab.training.state import initial_state, of_member
from tests import tiny
from tests.encodings import laws
from tests.training.test_lowering import run_of

pytestmark = pytest.mark.gpu

# Float32 sums in another order: the products are computed with highest precision.
RELATIVE, ABSOLUTE = 1e-4, 1e-5
NAMES = [name for name in plugins.names("encodings") if laws.requirements(name).causal]


@pytest.fixture(scope="module")
def gpu():
    """The first GPU. These tests check nothing without one, so they fail."""
    first = jax.devices()[0]
    if first.platform != "gpu":
        pytest.fail("make test-gpu needs a GPU: make install EXTRA=cuda13")
    return first


def on(device, function, *arguments):
    """The result of a compiled function on a device, brought to the CPU."""
    arguments = jax.device_put(arguments, device)
    with jax.default_device(device), jax.default_matmul_precision("highest"):
        return jax.device_put(jax.jit(function)(*arguments), jax.devices("cpu")[0])


def assert_close(left, right):
    """Compare two trees, leaf by leaf, relative to the largest value of the leaf."""
    for (path, a), b in zip(
        jax.tree_util.tree_leaves_with_path(left), jax.tree.leaves(right), strict=True
    ):
        largest = np.abs(a).max(initial=0)
        tolerance = RELATIVE * largest + ABSOLUTE
        difference = np.abs(a - b).max(initial=0)
        assert difference <= tolerance, f"{jax.tree_util.keystr(path)}: {difference}"


@pytest.mark.parametrize("name", NAMES)
def test_losses_and_gradients_equal_those_of_the_cpu(name, gpu):
    cpu, run = jax.devices("cpu")[0], run_of(laws.spec(name))
    members = tiny.members({})
    reference = build_setup(run, platform="cpu")
    state = on(cpu, functools.partial(initial_state, reference), members)
    params, key = of_member(state.params, 0), jax.random.key(1)
    batch = on(cpu, lambda key: step.training_batch(reference, key, jnp.asarray(3)), key)
    results = {}
    for device, platform in ((cpu, "cpu"), (gpu, "cuda")):
        setup = build_setup(run, platform=platform)
        results[platform] = on(device, step.loss_and_gradient(setup), params, batch)
    assert_close(results["cpu"], results["cuda"])


def drawn(setup):
    """The first test examples of length 5."""
    index = map(jnp.int32, (1, 5, 0))
    size = setup.run.evaluate.batch_size
    return evaluation_data.draw_batch(
        setup.evaluated_task, setup.split_rule, 5, size, *index, data=None
    )


@pytest.mark.parametrize("name", NAMES)
def test_evaluations_equal_those_of_the_cpu(name, gpu):
    cpu, run = jax.devices("cpu")[0], run_of(laws.spec(name))
    members = tiny.members({}, {"seed": 1})
    reference = build_setup(run, platform="cpu")
    params = on(cpu, functools.partial(initial_state, reference), members).params
    test_split = evaluation_sums.Examples(*map(jnp.int32, (1, 5, 0, 0, 8)))
    results = {}
    for device, platform in ((cpu, "cpu"), (gpu, "cuda")):
        setup = build_setup(run, platform=platform)
        measure = functools.partial(evaluation_sums.measure_batch, setup, 5)
        examples = on(device, functools.partial(drawn, setup))
        results[platform] = on(device, measure, params, test_split, examples)
    counts = [results[platform].sums.metrics["exact_match"].total for platform in ("cpu", "cuda")]
    assert_close(
        results["cpu"].sums.metrics["negative_log_likelihood"].total,
        results["cuda"].sums.metrics["negative_log_likelihood"].total,
    )
    np.testing.assert_array_equal(*counts)


@pytest.mark.parametrize("seed", [0, 1])
def test_batches_are_drawn_bit_for_bit_as_on_the_cpu(seed, gpu):
    cpu, setup = jax.devices("cpu")[0], build_setup(run_of(laws.spec("rope")), platform="cpu")
    draw = functools.partial(step.training_batch, setup, now=jnp.asarray(3))
    batches = [on(device, draw, jax.random.key(seed)) for device in (cpu, gpu)]
    for left, right in zip(*map(jax.tree.leaves, batches), strict=True):
        np.testing.assert_array_equal(left, right)


def test_training_computes_products_of_float32_without_rounding_the_factors(gpu):
    left, right = np.random.default_rng(0).normal(size=(2, 512, 512)).astype(np.float32)
    exact = left.astype(np.float64) @ right
    precision = jax.config.jax_default_matmul_precision
    try:
        devices.compute_float32_products()
        found = jnp.matmul(*jax.device_put((left, right), gpu))
    finally:
        jax.config.update("jax_default_matmul_precision", precision)
    # TF32 has 10 bits of a factor: a relative error of about 3e-4.
    assert np.linalg.norm(found - exact) < 1e-5 * np.linalg.norm(exact)
