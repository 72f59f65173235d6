"""The programs of the core are lowered for CUDA and TPU, on a machine without an accelerator."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.kernels import whole_batch
from pe_lab.model import decode
from pe_lab.runs.plugins import plugins
from pe_lab.training import evaluation_data, evaluation_sums
from pe_lab.training.build import build_setup
from pe_lab.training.state import initial_state
from pe_lab.training.step import train_chunk
from tests import tiny
from tests.encodings import laws
from tests.marks import full
from tests.options import OPTIONS, PRO

PROMPT, ANSWER = 3, 4


# In the quick suite each member is lowered for each platform, in one of the two precisions.
QUICK = (
    ("rope", "cuda", "float32"),
    ("rope", "tpu", "bfloat16"),
    ("shaw", "cuda", "bfloat16"),
    ("shaw", "tpu", "float32"),
)


def cases():
    names = [n for n in plugins.names("encodings") if laws.requirements(n).causal]
    product = itertools.product(names, ("cuda", "tpu"), ("float32", "bfloat16"))
    return [case if case in QUICK else full(*case) for case in product]


SCHEMES = {1: "contiguous", 2: "two_stream", 3: "multimodal"}  # by their axes


def run_of(spec, **changes):
    """A run group of a small decoder with one encoding, and the positions that it reads."""
    axes = laws.requirements(spec["name"]).num_axes
    changes |= {"positions": {"name": SCHEMES[axes]}}
    if axes == 3:
        changes |= {"task": {"name": "copy_grid"}, "train__min_length": 2}
    return tiny.run(spec, **changes)


def setup(name, platform, dtype):
    run = run_of(laws.spec(name), model__compute_dtype=dtype)
    return build_setup(run, platform=platform)


def abstract(f, *arguments):
    return jax.eval_shape(f, *arguments)


def lower(f, platform, *arguments):
    """The exported program, in a form that the platform's compiler reads."""
    exported = jax.export.export(jax.jit(f), platforms=[platform])(*arguments)
    assert exported.platforms == (platform,)
    return exported.mlir_module()


def programs(experiment):
    """Name -> function and abstract arguments."""
    members = tiny.members({}, {"seed": 1})
    init = functools.partial(initial_state, experiment)
    state = abstract(init, members)
    steps = jax.ShapeDtypeStruct((), jnp.int32)
    point = evaluation_sums.Examples(*[np.int32(1)] * 5)
    bound = max(experiment.run.evaluate.lengths)
    size = experiment.run.evaluate.batch_size
    task, rule = experiment.evaluated_task, experiment.split_rule

    def draw(*indices):
        return evaluation_data.draw_batch(task, rule, bound, size, *indices, data=None)

    index = jax.ShapeDtypeStruct((), jnp.int32)
    examples = abstract(draw, index, index, index)
    return {
        "initialization": (init, members),
        "training": (functools.partial(train_chunk, experiment), state, members, steps),
        "examples": (draw, index, index, index),
        "evaluation": (
            functools.partial(evaluation_sums.measure_batch, experiment, bound),
            state.params,
            point,
            examples,
        ),
        "decoding": (functools.partial(answers, experiment), experiment.abstract_params),
    }


def answers(experiment, params):
    axes = experiment.scheme.num_axes
    positions = jnp.arange(PROMPT + ANSWER)[None, None]
    positions = positions if axes == 1 else jnp.stack([positions] * axes, axis=-1)
    prompt = jnp.zeros((2, PROMPT), jnp.int32)
    mask = jnp.ones(prompt.shape, bool)
    model = experiment.model(params)
    return decode.generate(model, prompt, mask, end=9, max_tokens=ANSWER, positions=(positions,))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "platform", "dtype"), cases())
def test_every_program_is_lowered(name, platform, dtype):
    experiment = setup(name, platform, dtype)
    assert experiment.devices.vmapped
    assert experiment.kernels.value_and_grad is whole_batch.value_and_grad
    for f, *arguments in programs(experiment).values():
        assert "func.func public @main" in lower(f, platform, *arguments)


# An encoding with an argument that is off elsewhere, or with fields of the model.
WITH_OPTIONS = {
    **{name: ({"name": "rope"}, fields) for name, fields in OPTIONS.items()},
    "fox_pro": ({"name": "fox"}, PRO),
    "path": ({"name": "path", "convolution": 3}, {}),
    "selective_rope": ({"name": "selective_rope", "convolution": 4}, {}),
    "mrope": ({"name": "mrope", "order": "interleaved", "sections": (2, 1, 1)}, {}),
}


def option_cases():
    """In bfloat16, in which each option converts its numbers; one case is in the slow suite."""
    product = itertools.product(WITH_OPTIONS, ("cuda", "tpu"))
    return [case if case == ("convolutions", "cuda") else full(*case) for case in product]


@pytest.mark.slow
@pytest.mark.parametrize(("option", "platform"), option_cases())
def test_programs_with_an_option_are_lowered(option, platform):
    spec, fields = WITH_OPTIONS[option]
    changes = {f"model__{name}": value for name, value in fields.items()}
    run = run_of(spec, model__compute_dtype="bfloat16", **changes)
    for f, *arguments in programs(build_setup(run, platform=platform)).values():
        assert "func.func public @main" in lower(f, platform, *arguments)


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["cuda", full("tpu")])
def test_programs_of_loops_with_injection_and_drawn_numbers_are_lowered(platform):
    changes = {"model__num_loops": 2, "model__loop_injection": "linear", "train__min_loops": 1}
    experiment = build_setup(tiny.run("rope", model__num_layers=1, **changes), platform=platform)
    for f, *arguments in programs(experiment).values():
        assert "func.func public @main" in lower(f, platform, *arguments)


@pytest.mark.slow
def test_a_program_for_an_accelerator_has_no_form_of_a_cpu():
    """The kernels are chosen by the platform that is compiled for, and not by the one that
    compiles.
    """
    for_cpu, for_cuda = (
        setup("alibi", platform, "float32").kernels for platform in ("cpu", "cuda")
    )
    assert for_cpu.attention.__module__ == "pe_lab.kernels.attention_cpu"
    assert for_cuda.attention.__module__ == "pe_lab.kernels.attention_fused"
    assert for_cuda.dot_general is jax.lax.dot_general
