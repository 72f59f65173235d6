"""Expressions with brackets: the grammar of modular_arithmetic_brackets and solve_equation.

An expression of length 1 is a digit d, of length 2 `-d`, of length 3 `(d)`, of length 4 `(-d)`. A
longer one of length n is `(left operator right)`, and the length of its left part is uniform on
1..n-4. At most one subexpression starts at each index, so that arrays hold the properties of a
subexpression at its first index and no recursion is needed.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from pe_lab.tasks.base import RandomKey, Scalar

PLUS, MINUS, OPEN, CLOSE, TIMES = range(5)  # symbols, counted from the modulus


def draw_expression(
    key: RandomKey, length: Scalar, bound: int, modulus: int, num_operators: int
) -> tuple[Int[Array, "b"], Bool[Array, "b"], Scalar]:
    """Draw an expression: its symbols, where its digits are, and its value modulo `modulus`."""
    cut_key, digits_key, operators_key = jax.random.split(key, 3)
    span, right, depth = _draw_spans(cut_key, length, bound)
    digit = jax.random.randint(digits_key, (bound,), 0, modulus)
    operator_index = jax.random.randint(operators_key, (bound,), 0, num_operators)
    operator = jnp.asarray((PLUS, MINUS, TIMES))[operator_index]

    index = jnp.arange(bound)
    previous, next_to_previous = jnp.roll(span, 1), jnp.roll(span, 2)
    is_digit = (span == 1) | (previous == 2) | (previous == 3) | (next_to_previous == 4)
    # An operator is the symbol before a right part.
    is_operator = (span == 0) & (jnp.roll(span, -1) > 0) & (index < length - 1)
    is_minus = (span == 2) | (previous == 4)
    symbols = jnp.select(
        [index >= length, span > 2, is_digit, is_minus, is_operator],
        [0, modulus + OPEN, digit, modulus + MINUS, modulus + operator],
        modulus + CLOSE,
    )
    return symbols, is_digit, _value(span, right, depth, digit, operator, modulus)


def _draw_spans(
    key: RandomKey, length: Scalar, bound: int
) -> tuple[Int[Array, "b"], Int[Array, "b"], Scalar]:
    """Draw the tree of an expression.

    Returns:
      The length of the subexpression that starts at each index, the first index of its right part
      (0 for none), and the depth of the tree.
    """
    index = jnp.arange(bound)
    random_bits = jax.random.bits(key, (bound,), jnp.uint32)

    def is_uncut(state):
        span, right, _ = state
        return (span > 4) & (right == 0)

    def cut(state):
        """Cut all subexpressions of one depth."""
        span, right, depth = state
        now = is_uncut(state)
        num_choices = jnp.maximum(span - 4, 1).astype(jnp.uint32)
        # One draw per index suffices, since each index is cut at most once.
        left = 1 + (random_bits % num_choices).astype(jnp.int32)
        right = jnp.where(now, index + left + 2, right)
        parts = jnp.where(jnp.roll(now, 1), jnp.roll(left, 1), span)
        parts = parts.at[jnp.where(now, right, bound)].set(span - left - 3, mode="drop")
        return parts, right, depth + 1

    span = jnp.where(index == 0, length, 0)
    start = (span, jnp.zeros(bound, jnp.int32), jnp.zeros((), jnp.int32))
    return jax.lax.while_loop(lambda state: is_uncut(state).any(), cut, start)


def _value(
    span: Int[Array, "b"],
    right: Int[Array, "b"],
    depth: Scalar,
    digit: Int[Array, "b"],
    operator: Int[Array, "b"],
    modulus: int,
) -> Scalar:
    """Evaluate the expression from the leaves up, one depth of the tree at a time."""
    digit_index = jnp.minimum(jnp.arange(len(span)) + span // 2, len(span) - 1)
    digits = digit[digit_index]
    # The digit is in the middle of a leaf, and leaves of even length have a minus.
    leaf = jnp.where(span % 2 == 0, -digits, digits) % modulus
    kind = operator[right - 1]

    def combine(_, value):
        a, b = jnp.roll(value, -1), value[right]
        combined = jnp.select([kind == PLUS, kind == MINUS], [a + b, a - b], a * b)
        return jnp.where(span > 4, combined % modulus, leaf)

    return jax.lax.fori_loop(0, depth, combine, leaf)[0]


def check_modulus(name: str, modulus: int) -> None:
    """Reject a modulus below 2 or with products beyond 32 bits."""
    if not 2 <= modulus <= 2**15:
        raise ValueError(f"{name} needs a modulus from 2 to {2**15}, got {modulus}.")
