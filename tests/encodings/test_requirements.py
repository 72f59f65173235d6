"""What an encoding declares is what its class computes."""

import ast
import inspect
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from flax import nnx

from pe_lab.contrib.laws.subjects import Subject
from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.base import AttentionEncoding, InputEncoding, OffsetBias
from pe_lab.encodings.cope import CoPE
from pe_lab.encodings.requirements import Requirements
from pe_lab.runs.plugins import plugins
from tests import models
from tests.encodings import laws
from tests.marks import full_except

NAMES = plugins.names("encodings")
IN_ATTENTION = [name for name in NAMES if laws.is_attention(name)]
LAYERED = ("deberta", "mixed_rope", "music_transformer", "shaw")
HOOK_OF = {"logits": "transform_logits", "normalize": "normalize", "combine": "combine"}
BIAS_HOOKS = {"features", "bias", "content_bias"}


@pytest.mark.parametrize("name", NAMES)
def test_the_site_is_that_of_the_base_class(name):
    cls = plugins.find("encodings", name)
    base = {"input": InputEncoding, "attention": AttentionEncoding}[cls.requirements.site]
    assert issubclass(cls, base)


@pytest.mark.parametrize("name", IN_ATTENTION)
def test_a_class_replaces_exactly_the_parts_whose_hooks_it_overrides(name):
    cls = plugins.find("encodings", name)
    hooks = laws.hooks(cls)
    assert set(cls.requirements.replaces) == {
        part for part, hook in HOOK_OF.items() if hook in hooks
    }


@pytest.mark.parametrize("name", IN_ATTENTION)
def test_an_instance_replaces_no_part_that_its_class_does_not(name):
    encoding = laws.build(name)
    assert set(encoding.requirements.replaces) <= set(type(encoding).requirements.replaces)


@pytest.mark.parametrize("name", IN_ATTENTION)
def test_an_encoding_that_is_only_a_bias_overrides_a_hook_of_biases_and_no_other(name):
    cls = plugins.find("encodings", name)
    hooks = set(laws.hooks(cls))
    if cls.requirements.only_bias:
        assert hooks & {"bias", "content_bias"}
        assert hooks <= BIAS_HOOKS


@pytest.mark.parametrize("name", full_except(LAYERED, IN_ATTENTION))
def test_layers_have_parameters_of_their_own_exactly_if_it_is_declared(name):
    """Drawn numbers of two layers differ; others, such as zeros, are the same in all layers."""
    subject = Subject(laws.spec(name))
    model, other = subject.build(), subject.build(seed=1)
    per_layer = subject.encoding.requirements.per_layer
    assert models.indices(model.decoder.layer_sites) == ((0,), (1,) if per_layer else (0,))
    if per_layer:
        first, second, redrawn = (
            jax.tree.leaves(nnx.state(encoding, nnx.Param))
            for encoding in (*model.attention_encodings, other.attention_encodings[0])
        )
        for one, two, three in zip(first, second, redrawn, strict=True):
            assert (one != two).any() == (one != three).any()


@pytest.mark.parametrize(
    ("base", "requirements", "message"),
    [
        (OffsetBias, {"relative": True}, r"requirements must be Requirements\(...\)"),
        (
            InputEncoding,
            Requirements(),
            r"must declare requirements = Requirements\(site='input'\)",
        ),
    ],
)
def test_a_class_has_requirements_of_the_site_of_its_base(base, requirements, message):
    with pytest.raises(TypeError, match=f"^Own:? {message}"):
        type("Own", (base,), {"requirements": requirements})


def test_a_bias_of_another_shape_names_its_hook():
    class Flat(OffsetBias):
        def of_offset(self, offset):
            return -abs(offset)

    with pytest.raises(
        ValueError, match=r"^Flat.of_offset must return an array \[H, 3\], got \[3\]"
    ):
        Flat().of_offset(jnp.arange(3))


@pytest.mark.parametrize(("part", "hook"), HOOK_OF.items())
def test_a_class_that_replaces_a_part_without_declaring_it_is_rejected(part, hook):
    message = (
        rf"Quiet has its own {hook}, so it must declare "
        rf"requirements = Requirements\(replaces=\('{part}',\)\)."
    )
    with pytest.raises(TypeError, match=message):
        type("Quiet", (AttentionEncoding,), {hook: lambda self, *arguments: arguments[0]})
    declared = {
        "requirements": Requirements(replaces=(part,)),
        hook: lambda self, *arguments: arguments[0],
    }
    assert type("Declared", (AttentionEncoding,), declared).requirements.replaces == (part,)


def test_a_class_that_inherits_a_part_must_go_on_declaring_it():
    with pytest.raises(TypeError, match="Heir has its own transform_logits, so it must declare"):
        type("Heir", (CoPE,), {"requirements": Requirements(relative=True)})


@pytest.mark.parametrize("hook", ["transform_qk", "mask"])
def test_a_bias_with_another_hook_must_not_declare_that_it_is_only_a_bias(hook):
    another = {hook: lambda self, *arguments: arguments[:2]}
    with pytest.raises(
        TypeError, match=f"Both has its own {hook}, so it must declare only_bias=False."
    ):
        type("Both", (ALiBi,), another)
    declared = {"requirements": Requirements(relative=True), **another}
    assert not type("Both", (ALiBi,), declared).requirements.only_bias


@pytest.mark.parametrize(("part", "hook"), HOOK_OF.items())
def test_a_bias_that_replaces_a_part_must_not_declare_that_it_is_only_a_bias(part, hook):
    replacement = {
        "requirements": Requirements(only_bias=True, replaces=(part,)),
        hook: lambda self, *arguments: arguments[0],
    }
    with pytest.raises(
        TypeError, match=f"Both has its own {hook}, so it must declare only_bias=False."
    ):
        type("Both", (OffsetBias,), replacement)


@pytest.mark.parametrize("name", NAMES)
def test_no_encoding_handles_padding(name):
    """The model gives padded tokens a valid position and masks them before any hook.

    An encoding reads the lengths of examples only as `Tokens.lengths`, and only if it declares so.
    """
    cls = plugins.find("encodings", name)
    tree = ast.parse(Path(inspect.getfile(cls)).read_text(encoding="utf-8"))
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    assert not {"valid", "padding", "pad_mask"} & (names | attributes)
    if "lengths" in attributes:
        keywords = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
        assert "reads_length" in keywords


def test_what_reads_lengths_is_dynamic_rope_alone():
    """So that the test above has something to find."""
    sources = {
        name: inspect.getsource(inspect.getmodule(plugins.find("encodings", name)))
        for name in NAMES
    }
    assert [name for name, source in sources.items() if ".lengths" in source] == ["rope"]
