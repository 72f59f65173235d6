"""Every law on every encoding of the folder."""

import ast
import functools
import importlib.util
import inspect
import itertools
import re
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab import parts
from pe_lab.contrib.laws.subjects import Subject
from pe_lab.runs.plugins import plugins
from tests import choices, members
from tests.encodings import codes, laws
from tests.marks import full_except

# Members that run all laws in the quick suite: an input encoding, a rotation, a form of attention
# of its own, and a bias of content. The full suite runs every law on every member.
REPRESENTATIVES = ("sinusoidal_2d", "rope", "stick_breaking", "transformer_xl")
SLOW = (
    "compiled_equals_eager",
    "half_precision_keeps_positions_apart",
    "accelerator_kernels_equal_the_reference",
)  # the last two run quickly for one member, the first for none
# Laws that every member runs in the quick suite: they share its first compiled program.
CHEAP = (
    "shape_is_kept_and_finite",
    "positions_are_read_not_indices",
    "shift_is_ignored_if_relative",
    "order_is_seen",
    "last_two_positions_differ",
    "beyond_its_positions_there_is_nothing",
    "negative_positions_are_positions_too",
    "future_does_not_leak",
    "one_seed_gives_one_backbone",
)
# The laws that another architecture could break, and the members that run them quickly there.
HANDFUL = (
    "shape_is_kept_and_finite",
    "shift_is_ignored_if_relative",
    "between_two_streams_both_positions_are_read",
    "an_encoder_sees_order_through_positions_alone",
    "cpu_kernels_equal_the_reference",
    "padding_does_not_reach_valid_tokens",
    "packed_segments_equal_separate_ones",
    "one_seed_gives_one_backbone",
    "gradients_are_finite_and_reach_every_parameter",
    "decoding_equals_the_full_forward",
)
FEW = {"encoder": ("sinusoidal_2d", "transformer_xl"), "encoder_decoder": ("rope", "t5_bias")}
ONE_LAYER = (("num_layers", 1),)


@functools.cache
def subject(name: str, architecture: str = "decoder") -> Subject:
    """One compilation of a member and architecture for most laws. One layer suffices, unless the
    member's test file has NEEDS_TWO_LAYERS."""
    is_deep = getattr(laws.own_tests(name), "NEEDS_TWO_LAYERS", False)
    return Subject(laws.spec(name), architecture, () if is_deep else ONE_LAYER)


def cases(architecture: str) -> list[Any]:
    """Names and laws for `parametrize`; those that are not quick are marked."""
    product = itertools.product(laws.names(architecture), laws.laws_of(architecture))
    return [
        pytest.param(name, law, marks=() if is_quick(architecture, name, law) else pytest.mark.full)
        for name, law in product
    ]


def is_quick(architecture: str, name: str, law: str) -> bool:
    if architecture != "decoder":
        return name in FEW[architecture] and law in HANDFUL
    if law in SLOW:
        return name == "rope" and law != "compiled_equals_eager"
    return law in CHEAP or name in REPRESENTATIVES


@pytest.mark.parametrize("name", plugins.names("encodings"))
def test_it_has_a_test_file_of_its_own(name):
    member, module = parts.module("encodings", name), members.test_module("encodings", name)
    file, test_file = (f"{each.replace('.', '/')}.py" for each in (member, module))
    assert importlib.util.find_spec(module), (
        f"{file} needs {test_file} with SENSITIVE, two values "
        "for every argument, and ARGUMENTS, a value for each argument that has no default"
    )


@pytest.mark.parametrize(("name", "law"), cases("decoder"))
def test_law_holds(name, law):
    laws.LAWS[law](subject(name))


@pytest.mark.parametrize(("name", "law"), cases("encoder"))
def test_law_holds_in_an_encoder(name, law):
    laws.LAWS[law](subject(name, "encoder"))


@pytest.mark.parametrize(("name", "law"), cases("encoder_decoder"))
def test_law_holds_in_an_encoder_decoder(name, law):
    laws.LAWS[law](subject(name, "encoder_decoder"))


@pytest.mark.parametrize("name", plugins.names("encodings"))
def test_its_test_states_two_values_of_every_argument(name):
    takes = set(plugins.parameters(plugins.find("encodings", name))) - set(
        plugins.CONTEXT["encodings"]
    )
    stated = set(laws.sensitive(name)) | (set() if laws.is_attention(name) else set(laws.COMMON))
    assert stated == takes, (
        f"SENSITIVE in tests/encodings/test_{name}.py must have two values for every argument"
    )


@pytest.mark.parametrize("name", full_except(REPRESENTATIVES, plugins.names("encodings")))
def test_every_argument_of_the_constructor_is_sensitive(name):
    for argument, (one, other) in laws.sensitive(name).items():
        assert_matters(name, argument, one, other)


@pytest.mark.parametrize("argument", laws.COMMON)
@pytest.mark.parametrize(
    "name",
    full_except(["binary"], [n for n in plugins.names("encodings") if not laws.is_attention(n)]),
)
def test_every_argument_of_input_encodings_is_sensitive(name, argument):
    if argument not in laws.sensitive(name):
        assert_matters(name, argument, *({argument: value} for value in laws.COMMON[argument]))


def assert_matters(name, argument, one, other):
    logits = [
        logits_far_apart(plugins.resolve("encodings", laws.spec(name, **given)))
        for given in (one, other)
    ]
    assert not np.allclose(*logits, atol=1e-4, equal_nan=True), (
        f"{name}'s {argument} changes nothing"
    )


@functools.cache
def logits_far_apart(plugin: plugins.Plugin) -> np.ndarray:
    """Logits at positions with gaps, and with axes that differ where there are several."""
    apart = jnp.asarray([0, 1, 3, 9, 20, 40, 63])[None, None]
    subject = Subject(plugin.to_dict(), changes=ONE_LAYER)
    axes = subject.requirements.num_axes
    if axes > 1:
        apart = jnp.stack([apart // (axis + 1) for axis in range(axes)], axis=-1)
    return subject.logits(positions=apart)


@pytest.mark.parametrize(("name", "argument"), choices.arguments("encodings"))
def test_a_misspelled_choice_is_rejected(name, argument):
    choices.assert_misspellings_are_rejected("encodings", name, argument)


@pytest.mark.parametrize("name", [n for n in plugins.names("encodings") if laws.is_attention(n)])
def test_an_array_in_place_of_tokens_is_rejected(name):
    """By every public method and for each side, before anything is computed."""
    encoding, positions = laws.build(name), jnp.arange(4)[None]
    members = inspect.getmembers(type(encoding), inspect.isfunction)
    methods = [getattr(encoding, each) for each, _ in members if not each.startswith("_")]
    rejected = set()
    for method in methods:
        names = list(inspect.signature(method).parameters)
        for side in {"Q", "K", "tokens"} & set(names):
            arguments = dict.fromkeys(names, codes.tokens(range(4))) | {side: positions}
            name = method.__name__
            sentence = f"{name} takes Tokens as {side}, got ArrayImpl: pass Tokens(positions)."
            with pytest.raises(TypeError, match=re.escape(sentence)):
                method(**arguments)
            rejected.add(name)
    assert {
        "transform_qk",
        "bias",
        "content_bias",
        "mask",
        "transform_logits",
        "combine",
    } <= rejected


@pytest.mark.parametrize("name", plugins.names("encodings"))
def test_it_imports_nothing_of_pe_lab_but_the_shared_parts_of_encodings(name):
    """So that one file can be taken elsewhere."""
    source = Path(inspect.getfile(plugins.find("encodings", name))).read_text()
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import | ast.ImportFrom)]
    modules = {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            is_package = node.module == "pe_lab.encodings"
            names = {f"{node.module}.{a.name}" for a in node.names} if is_package else {node.module}
            modules |= names
    shared = {f"pe_lab.encodings.{part}" for part in ("base", "ops", "requirements")}
    # A method with many variants may keep formulas in a file of its own, as RoPE does its scalings.
    of_this_file = f"pe_lab.encodings._{name}_"
    imported = {module for module in modules if module.startswith("pe_lab")}
    foreign = {module for module in imported if not module.startswith(of_this_file)} - shared
    assert not foreign, f"{name}.py imports {foreign}: copy what it needs, or move it to ops.py"


@pytest.mark.parametrize("name", plugins.names("encodings"))
def test_docstring_names_its_source(name):
    module = inspect.getmodule(plugins.find("encodings", name))
    found = "https://arxiv.org/abs/" in (module.__doc__ or "") or "No paper:" in (
        module.__doc__ or ""
    )
    assert found, (
        "the module docstring names its paper with its link, "
        "or says 'No paper:' and where the idea is from"
    )
