"""Expressions with brackets: the grammar of modular_arithmetic_brackets and solve_equation.

An expression of length 1 is a digit d, of 2 `-d`, of 3 `(d)`, of 4 `(-d)`; a longer one of length n
is `(left operator right)`, the left of a length uniform on 1..n-4. Every place of a string starts
at most one subexpression, so all that is known or drawn of a subexpression stands at its first
place: nothing is recursive.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

PLUS, MINUS, OPEN, CLOSE, TIMES = range(5)  # symbols, counted from the modulus


def drawn(
    key: Key[Array, ""], length: Int[Array, ""], bound: int, modulus: int, num_operators: int
) -> tuple[Int[Array, "b"], Bool[Array, "b"], Int[Array, ""]]:
    """Symbols of an expression, where its digits are, and its value modulo `modulus`."""
    cut, of_digits, of_operators = jax.random.split(key, 3)
    span, right, depth = _spans(cut, length, bound)
    digit = jax.random.randint(of_digits, (bound,), 0, modulus)
    operator = jnp.asarray((PLUS, MINUS, TIMES))[
        jax.random.randint(of_operators, (bound,), 0, num_operators)
    ]
    place = jnp.arange(bound)
    before, before_that = jnp.roll(span, 1), jnp.roll(span, 2)
    is_digit = (span == 1) | (before == 2) | (before == 3) | (before_that == 4)
    is_operator = (
        (span == 0) & (jnp.roll(span, -1) > 0) & (place < length - 1)
    )  # it stands before the right part
    symbols = jnp.select(
        [place >= length, span > 2, is_digit, (span == 2) | (before == 4), is_operator],
        [0, modulus + OPEN, digit, modulus + MINUS, modulus + operator],
        modulus + CLOSE,
    )
    return symbols, is_digit, _value(span, right, depth, digit, operator, modulus)


def _spans(
    key: Key[Array, ""], length: Int[Array, ""], bound: int
) -> tuple[Int[Array, "b"], Int[Array, "b"], Int[Array, ""]]:
    """Of each place the length of the subexpression that starts there, and where that one's right
    part starts; 0: none.

    All subexpressions of one depth are cut at once; the last result is the number of depths.
    """
    place, cut = jnp.arange(bound), jax.random.bits(key, (bound,), jnp.uint32)

    def whole(state):
        span, right, _ = state
        return (span > 4) & (right == 0)

    def deeper(state):
        span, right, depth = state
        now = whole(state)
        left = 1 + (cut % jnp.maximum(span - 4, 1).astype(jnp.uint32)).astype(jnp.int32)
        right = jnp.where(now, place + left + 2, right)
        parts = jnp.where(jnp.roll(now, 1), jnp.roll(left, 1), span)
        parts = parts.at[jnp.where(now, right, bound)].set(span - left - 3, mode="drop")
        return parts, right, depth + 1

    start = jnp.where(place == 0, length, 0), jnp.zeros(bound, jnp.int32), jnp.zeros((), jnp.int32)
    return jax.lax.while_loop(lambda state: whole(state).any(), deeper, start)


def _value(
    span: Int[Array, "b"],
    right: Int[Array, "b"],
    depth: Int[Array, ""],
    digit: Int[Array, "b"],
    operator: Int[Array, "b"],
    modulus: int,
) -> Int[Array, ""]:
    """Of the whole expression. A pass sets right every subexpression whose parts are right."""
    digits = digit[jnp.minimum(jnp.arange(len(span)) + span // 2, len(span) - 1)]
    leaf = jnp.where(span % 2 == 0, -digits, digits) % modulus
    kind = operator[right - 1]

    def higher(_, value):
        a, b = jnp.roll(value, -1), value[right]
        both = jnp.select([kind == PLUS, kind == MINUS], [a + b, a - b], a * b)
        return jnp.where(span > 4, both % modulus, leaf)

    return jax.lax.fori_loop(0, depth, higher, leaf)[0]


def value_of(symbols: Sequence[int], modulus: int) -> int:
    """The value of an expression, by descent through its brackets."""
    value, rest = _first(list(symbols), modulus)
    assert not rest, f"symbols behind the end: {rest}"
    return value % modulus


def _first(symbols: list[int], modulus: int) -> tuple[int, list[int]]:
    """The value of the expression that the symbols start with, and what follows it."""
    head, rest = symbols[0], symbols[1:]
    if head < modulus:
        return head, rest
    if head == modulus + MINUS:
        return -rest[0], rest[1:]
    value, (sign, *rest) = _first(rest, modulus)
    if sign == modulus + CLOSE:
        return value, rest
    other, rest = _first(rest, modulus)
    return {PLUS: value + other, MINUS: value - other, TIMES: value * other}[sign - modulus], rest[
        1:
    ]


def checked(name: str, modulus: int) -> None:
    """Refuses a modulus that makes no residues, or products beyond 32 bits."""
    if not 2 <= modulus <= 2**15:
        raise ValueError(f"{name} needs a modulus from 2 to {2**15}, got {modulus}.")
