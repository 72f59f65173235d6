"""Checks of encoding classes when they are defined, and of the arguments of their hooks."""

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any

from pe_lab.encodings.requirements import Requirements

# Part of attention -> the hook that computes it in another way.
_HOOK_OF = {"logits": "transform_logits", "normalize": "normalize", "combine": "combine"}


def check_arguments(method: Callable, kind: type, names: Collection[str]) -> Callable:
    """Return the method with a check of the parameters that must be of one type.

    Without it a bare array fails inside the method, where the error does not name the cause. The
    check reads types only, so compiled programs do not contain it.

    Args:
      kind: type of the parameters that are annotated as such or named in `names`.
    """
    parameters = inspect.signature(method).parameters
    order = list(parameters)
    checked = []
    for name, parameter in parameters.items():
        if name in names or parameter.annotation is kind:
            checked.append(name)
    if not checked:
        return method

    @functools.wraps(method)
    def with_check(*args: Any, **kwargs: Any) -> Any:
        values = dict(zip(order, args, strict=False))
        values.update(kwargs)
        for name in checked:
            if name in values and not isinstance(values[name], kind):
                hook = f"{type(args[0]).__name__}.{method.__name__}"
                got = type(values[name]).__name__
                expected = kind.__name__
                raise TypeError(
                    f"{hook} takes {expected} as {name}, got {got}: pass {expected}(positions)."
                )
        return method(*args, **kwargs)

    return with_check


def check_declared(cls: type, requirements: Requirements, base: type) -> None:
    """Check that a class declares its parts: attention would skip others, and DAPE misread them.

    Args:
      requirements: of the class.
      base: the class whose hooks change nothing.

    Raises:
      TypeError: `requirements.replaces` lacks a part that the class computes, or a class that is
        `only_bias` has another hook.
    """

    def overrides(hook: str) -> bool:
        return getattr(cls, hook) is not getattr(base, hook)

    for part, hook in _HOOK_OF.items():
        if overrides(hook) and part not in requirements.replaces:
            needed = f"requirements = Requirements(replaces=({part!r},))"
            raise TypeError(f"{cls.__name__} has its own {hook}, so it must declare {needed}.")
    for hook in ("transform_qk", "mask", *_HOOK_OF.values()):
        if overrides(hook) and requirements.only_bias:
            raise TypeError(
                f"{cls.__name__} has its own {hook}, so it must declare only_bias=False."
            )


def constructor_signature(cls: type) -> inspect.Signature:
    """Signature of a constructor, with the arguments that it passes on to its parents as **rest."""
    parameters: dict[str, inspect.Parameter] = {}
    for owner in cls.__mro__:
        if owner is object or "__init__" not in vars(owner):
            continue
        signature = inspect.signature(vars(owner)["__init__"])
        declared = list(signature.parameters.values())[1:]  # without self
        for parameter in declared:
            parameters.setdefault(parameter.name, parameter)
        passes_on = any(p.kind is p.VAR_KEYWORD for p in declared)
        if not passes_on or owner.__module__ == "flax.nnx.module":
            break
    all_parameters = parameters.values()
    keyword_only = [p for p in all_parameters if p.kind is p.KEYWORD_ONLY]
    positional = [p for p in all_parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    return inspect.Signature(keyword_only or positional)
