"""The encodings of the folder, on which tests run the laws of pe_lab.contrib.laws.

test_laws.py runs every law on every member. test_planted.py runs them on broken encodings and sees
them fail.
"""

import functools
from typing import Any

from flax import nnx

from pe_lab.contrib.laws.encoding_laws import LAWS, acts_in, laws_of, requirements  # noqa: F401
from pe_lab.encodings.base import AttentionEncoding
from pe_lab.runs.plugins import plugins
from tests import members

HOOKS = (
    "features",
    "transform_qk",
    "bias",
    "content_bias",
    "mask",
    "transform_logits",
    "normalize",
    "combine",
)


@functools.cache
def names(architecture: str = "decoder") -> tuple[str, ...]:
    """Members that may act in all self-attention of an architecture."""
    names = plugins.names("encodings")
    return tuple(name for name in names if acts_in(requirements(name), architecture))


def hooks(encoding: Any) -> list[str]:
    """The hooks that an encoding, or its class, has of its own."""
    cls = encoding if isinstance(encoding, type) else type(encoding)
    return [hook for hook in HOOKS if getattr(cls, hook) is not getattr(AttentionEncoding, hook)]


own_tests = functools.partial(members.own_tests, "encodings")
spec = functools.partial(members.spec, "encodings")


def build(name: str) -> Any:
    """The member alone, outside of a model."""
    context = {"width": 64, "num_heads": 4, "head_dim": 16, "num_layers": 2, "bidirectional": False}
    plugin = plugins.resolve("encodings", spec(name))
    return plugins.build("encodings", plugin, **context, rngs=nnx.Rngs(params=0))


# What every input encoding takes.
COMMON = {
    "combine": ("add", "multiply"),
    "scale": (1.0, 0.5),
    "learn_scale": (False, True),
    "lift": ("pad", "project"),
}


def is_attention(name: str) -> bool:
    return issubclass(plugins.find("encodings", name), AttentionEncoding)


def sensitive(name: str) -> dict[str, tuple[dict[str, Any], ...]]:
    """Argument -> two sets of arguments that must give different logits.

    A member states two values, or two dicts where its argument matters only beside others.
    """
    found = getattr(own_tests(name), "SENSITIVE", {})  # test_laws.py reports a file without it
    return {
        a: tuple(v if isinstance(v, dict) else {a: v} for v in values)
        for a, values in found.items()
    }
