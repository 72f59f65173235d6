"""Checks of encoding classes when they are defined, and of the arguments of their hooks."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pe_lab.encodings.ops import as_positions
from pe_lab.encodings.requirements import Requirements

# Hook without tokens -> the index of its positions, or offsets, among its parameters.
_POSITIONS = {"embed": 1, "scaled_embedding": 1, "features": 2, "of_offset": 1}
# Part of attention -> the hook that computes it in another way.
_HOOK_OF = {"logits": "transform_logits", "normalize": "normalize", "combine": "combine"}


def check_arguments(
    method: Callable, kind: type, sides: Mapping[str, str], *, check_width: bool
) -> Callable:
    """Return the method with a check of its tokens, and of the shapes of queries, keys and values.

    Without it a wrong argument fails inside the method, where the error does not name the cause.
    The check reads types and shapes only, so compiled programs do not contain it. All positions
    enter an encoding here and become int32 or float32.

    Args:
      kind: type of the parameters that are annotated as such or are sides.
      sides: parameter -> the parameter with its tokens.
      check_width: heads must be as wide as those that the encoding was built for.
    """
    parameters = inspect.signature(method).parameters
    order = list(parameters)
    of_kind = []
    for name, parameter in parameters.items():
        if parameter.annotation is kind or name in sides.values():
            of_kind.append(name)
    positions = order[_POSITIONS[method.__name__]] if method.__name__ in _POSITIONS else None
    if not of_kind and positions is None:
        return method

    def converted(name: str, value: Any) -> Any:
        if name in of_kind:
            whole_or_real = as_positions(value.positions)
            is_same = whole_or_real is value.positions
            return value if is_same else dataclasses.replace(value, positions=whole_or_real)
        return as_positions(value) if name == positions else value

    @functools.wraps(method)
    def with_check(*args: Any, **kwargs: Any) -> Any:
        values = dict(zip(order, args, strict=False))
        values.update(kwargs)
        encoding = args[0]
        hook = f"{type(encoding).__name__}.{method.__name__}"
        for name in of_kind:
            if name in values:
                _check_tokens(hook, name, values[name], kind)
                _check_positions(hook, name, list(np.shape(values[name].positions)))
        head_dim = encoding.head_dim if check_width else None
        for name, side in sides.items():
            if name != side and name in values and side in values:
                num_positions = np.shape(values[side].positions)[1]
                _check_heads(hook, name, np.shape(values[name]), num_positions, head_dim)
        # Surplus arguments are passed on, so that Python itself names them in its error.
        args = (*map(converted, order, args), *args[len(order) :])
        kwargs = {name: converted(name, value) for name, value in kwargs.items()}
        result = method(*args, **kwargs)
        if method.__name__ == "of_offset":
            _check_biases(hook, np.shape(result), np.shape(args[1]))
        return result

    return with_check


def _check_biases(hook: str, shape: tuple[int, ...], offsets: tuple[int, ...]) -> None:
    if shape[1:] != offsets:
        expected = ", ".join(map(str, ["H", *offsets]))
        raise ValueError(f"{hook} must return an array [{expected}], got {list(shape)}.")


def _check_tokens(hook: str, name: str, tokens: object, kind: type) -> None:
    if not isinstance(tokens, kind):
        got = type(tokens).__name__
        expected = kind.__name__
        raise TypeError(
            f"{hook} takes {expected} as {name}, got {got}: pass {expected}(positions)."
        )


def _check_positions(hook: str, name: str, shape: list[int]) -> None:
    if len(shape) not in (2, 3):
        hint = ": for one example, pass positions[None]" if len(shape) == 1 else ""
        raise ValueError(f"{hook} takes positions [B, L] as {name}, got {shape}{hint}.")


def _check_heads(
    hook: str, name: str, shape: tuple[int, ...], num_positions: int, head_dim: int | None
) -> None:
    """Check the shape [B, L, H, Dh] of queries, keys or values.

    Args:
      head_dim: Dh; None: any.
    """
    got = f"{name} of shape {list(shape)}"
    if len(shape) != 4:
        raise ValueError(f"{hook} takes {name} [B, L, H, Dh], got {got}.")
    length, num_heads, width = shape[1:]
    if length != num_positions:
        is_swapped = num_heads == num_positions
        hint = ", which looks like [B, H, L, Dh]: swap its axes 1 and 2" if is_swapped else ""
        raise ValueError(
            f"{hook} takes {name} [B, L, H, Dh] with L = {num_positions} as its positions have, "
            f"got {got}{hint}."
        )
    if head_dim is not None and width != head_dim:
        raise ValueError(f"{hook} is built for head_dim={head_dim}, got {got}.")


def check_site(cls: Any, inherited: Requirements) -> None:
    """Check that a class has requirements, and acts at the site of its base class.

    Raises:
      TypeError: it does not.
    """
    if not isinstance(cls.requirements, Requirements):
        raise TypeError(f"{cls.__name__}: requirements must be Requirements(...).")
    if cls.requirements.site != inherited.site:
        site = f"Requirements(site={inherited.site!r})"
        raise TypeError(f"{cls.__name__} must declare requirements = {site}.")


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
