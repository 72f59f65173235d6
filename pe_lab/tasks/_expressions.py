"""Expressions with brackets: the grammar of modular_arithmetic_brackets and solve_equation.

An expression of length 1 is a digit d, of length 2 `-d`, of length 3 `(d)`, of length 4 `(-d)`. A
longer one of length n is `(left operator right)`, and the length of its left part is uniform on
1..n-4. At most one subexpression starts at each index, so that arrays hold the properties of a
subexpression at its first index and no recursion is needed.
"""

import jax
import jax.numpy as jnp

from pe_lab.tasks.base import Bools, Ints, RandomKey, Scalar

PLUS, MINUS, OPEN, CLOSE, TIMES = range(5)  # symbols, counted from the modulus


def draw_expression(
    key: RandomKey, length: Scalar, bound: int, modulus: int, num_operators: int
) -> tuple[Ints, Bools, Scalar]:
    """Draw an expression: its symbols, where its digits are, and its value modulo `modulus`."""
    cut_key, digits_key, operators_key = jax.random.split(key, 3)
    span, right, depth = _draw_spans(cut_key, length, bound)
    digit = jax.random.randint(digits_key, (bound,), 0, modulus)
    operator_index = jax.random.randint(operators_key, (bound,), 0, num_operators)
    operators = jnp.asarray((PLUS, MINUS, TIMES))
    operator = operators[operator_index]

    index = jnp.arange(bound)
    previous_span = jnp.roll(span, 1)
    is_digit = span == 1
    is_digit |= previous_span == 2  # -d
    is_digit |= previous_span == 3  # (d)
    is_digit |= jnp.roll(span, 2) == 4  # (-d)
    is_minus = (span == 2) | (previous_span == 4)
    # An operator is the symbol before a right part.
    starts_next = jnp.roll(span, -1) > 0
    is_operator = (span == 0) & starts_next & (index < length - 1)
    symbols = jnp.select(
        [index >= length, span > 2, is_digit, is_minus, is_operator],
        [0, modulus + OPEN, digit, modulus + MINUS, modulus + operator],
        modulus + CLOSE,
    )
    value = _value(span, right, depth, digit, operator, modulus)
    return symbols, is_digit, value


def _draw_spans(key: RandomKey, length: Scalar, bound: int) -> tuple[Ints, Ints, Scalar]:
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
        is_cut = is_uncut(state)
        num_choices = jnp.maximum(span - 4, 1).astype(jnp.uint32)
        # One draw per index suffices, since each index is cut at most once.
        choice = random_bits % num_choices
        left_span = 1 + choice.astype(jnp.int32)
        right_span = span - left_span - 3  # without two brackets and the operator
        right = jnp.where(is_cut, index + left_span + 2, right)
        # The left part starts after the bracket.
        starts_left = jnp.roll(is_cut, 1)
        span = jnp.where(starts_left, jnp.roll(left_span, 1), span)
        # Indices that are not cut go out of bounds, where mode="drop" ignores them.
        starts_right = jnp.where(is_cut, right, bound)
        span = span.at[starts_right].set(right_span, mode="drop")
        return span, right, depth + 1

    span = jnp.where(index == 0, length, 0)
    no_right = jnp.zeros(bound, jnp.int32)
    no_depth = jnp.zeros((), jnp.int32)
    return jax.lax.while_loop(
        lambda state: is_uncut(state).any(),
        cut,
        (span, no_right, no_depth),
    )


def _value(
    span: Ints,
    right: Ints,
    depth: Scalar,
    digit: Ints,
    operator: Ints,
    modulus: int,
) -> Scalar:
    """Evaluate the expression from the leaves up, one depth of the tree at a time."""
    bound = len(span)
    # The digit is in the middle of a leaf, and leaves of even length have a minus.
    middle = jnp.arange(bound) + span // 2
    middle = jnp.minimum(middle, bound - 1)
    digits = digit[middle]
    has_minus = span % 2 == 0
    signed_digits = jnp.where(has_minus, -digits, digits)
    leaf = signed_digits % modulus
    kind = operator[right - 1]  # the symbol before the right part

    def combine(_, value):
        a = jnp.roll(value, -1)
        b = value[right]
        combined_value = jnp.select(
            [kind == PLUS, kind == MINUS],
            [a + b, a - b],
            a * b,
        )
        return jnp.where(span > 4, combined_value % modulus, leaf)

    # A value is final after as many passes as its subexpression is deep.
    values = jax.lax.fori_loop(0, depth, combine, leaf)
    return values[0]


def check_modulus(name: str, modulus: int) -> None:
    """Reject a modulus below 2 or with products beyond 32 bits."""
    if not 2 <= modulus <= 2**15:
        raise ValueError(f"{name} needs a modulus from 2 to {2**15}, got {modulus}.")
