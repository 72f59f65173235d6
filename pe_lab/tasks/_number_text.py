"""Numbers and signs written as the tokens of a prompt or a target.

Shape letters: R numbers of a text, W digits of a number, the least significant first.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Shaped

from pe_lab.tasks.base import Example, RandomKey, Scalar, make_example


class Text(NamedTuple):
    """Tokens in reading order; tokens that are not present are removed by `left_aligned`.

    Attributes:
      symbol: the symbol of each token.
      present: False at tokens that the text does not have.
      significance: of a digit, from 1; 0 for other tokens.
      row: the number of the number that the token belongs to, from 1; 0 between numbers.
      scored: True at tokens of the answer.
    """

    symbol: Int[Array, "*n"]
    present: Bool[Array, "*n"]
    significance: Int[Array, "*n"]
    row: Int[Array, "*n"]
    scored: Bool[Array, "*n"]


def map_fields(function, text: Text) -> Text:
    """Apply a function to every field of a text."""
    return Text(*map(function, text))


def number_text(
    digits: Int[Array, "r w"],
    widths: Int[Array, "r"],
    reverse: bool,
    row: Int[Array, "r"] | int | None = None,
    shift: Int[Array, "r"] | int = 0,
    scored: Bool[Array, "r"] | bool = False,
) -> Text:
    """Write numbers, [R, W], with leading zeros up to their widths; width 0 omits a number.

    Args:
      reverse: the least significant digit comes first.
      row: the row of each number; None for 1, 2, ….
      shift: added to the significance of each number's digits.
      scored: True for numbers of the answer.
    """
    if row is None:
        row = jnp.arange(1, len(digits) + 1)

    def expand(value_of_number):
        column = jnp.reshape(value_of_number, (-1, 1))
        return jnp.broadcast_to(column, digits.shape)

    index = jnp.arange(digits.shape[1])[None]
    text = Text(
        symbol=digits,
        present=index < widths[:, None],
        significance=expand(shift) + index + 1,
        row=expand(row),
        scored=expand(scored),
    )
    if reverse:
        return text
    return map_fields(lambda field: field[:, ::-1], text)


def sign_text(
    symbol: Shaped[Array, "*n"] | int,
    present: Bool[Array, "*n"],
    row: int = 0,
    scored: bool = False,
) -> Text:
    """Write tokens that are not digits, in the shape of `present`."""
    text = Text(
        symbol=jnp.asarray(symbol),
        present=present,
        significance=jnp.asarray(0),
        row=jnp.asarray(row),
        scored=jnp.asarray(scored),
    )
    return map_fields(lambda field: jnp.broadcast_to(field, present.shape), text)


def separated(text: Text, symbol: int) -> Text:
    """Put a symbol before every present number except the first: [R, ...] -> [R, n]."""
    text = map_fields(lambda field: field.reshape(len(field), -1), text)
    has_number = text.present.any(axis=1, keepdims=True)
    is_first = jnp.arange(len(has_number)) == 0
    has_sign = has_number & ~is_first[:, None]
    signs = sign_text(symbol, has_sign)
    return concatenated(signs, text)


def concatenated(*texts: Text) -> Text:
    """Concatenate texts along the last axis."""

    def concatenate(*fields):
        return jnp.concatenate(fields, axis=-1)

    return jax.tree.map(concatenate, *texts)


def stacked(*texts: Text) -> Text:
    """Interleave texts along a new last axis."""

    def stack(*fields):
        return jnp.stack(fields, axis=-1)

    return jax.tree.map(stack, *texts)


def with_hints(text: Text, first_symbol: int, count: int, hint: Scalar) -> Text:
    """Put a hint before each digit, which shows its significance.

    Args:
      first_symbol: of `count` hint symbols; without any the text stays as it is.
      hint: the index of the least significant digit's hint; the next ones follow cyclically.
    """
    if not count:
        return text
    number = (hint + text.significance - 1) % count
    symbols = first_symbol + number
    hints = text._replace(symbol=symbols, significance=jnp.zeros_like(symbols))
    return stacked(hints, text)


def with_blanks(key: RandomKey, text: Text, blank: int, probability: float) -> Text:
    """Put a blank before a token with a probability, and a second one with a tenth of it."""
    shape = (len(text.present), 2)
    uniform = jax.random.uniform(key, shape)
    has_blank = text.present & (uniform[:, 0] < probability)
    has_two = has_blank & (uniform[:, 1] < probability / 10)
    blanks = sign_text(blank, has_blank)
    second_blanks = sign_text(blank, has_two)
    spaced_text = stacked(second_blanks, blanks, text)
    return left_aligned(spaced_text, spaced_text.present.size)


def left_aligned(text: Text, size: int) -> Text:
    """Flatten a text to [size]: the present tokens first, then zeros."""
    present = text.present.ravel()
    num_present = jnp.cumsum(present)
    # Absent tokens go out of bounds, where mode="drop" ignores them.
    destination = jnp.where(present, num_present - 1, size)
    indices = jnp.arange(present.size)
    source = jnp.zeros(size, int)
    source = source.at[destination].set(indices, mode="drop")
    mask = jnp.arange(size) < present.sum()

    def align(field):
        values = field.ravel()[source]
        zero = jnp.zeros((), field.dtype)
        return jnp.where(mask, values, zero)

    return map_fields(align, text)


def text_example(prompt: Text, target: Text) -> Example:
    """Return the example of two left-aligned texts."""
    prompt_labels = _structure(prompt)
    target_labels = _structure(target)
    structure = {}
    for name, labels in prompt_labels.items():
        structure[name] = (labels, target_labels[name])
    return make_example(
        prompt.symbol,
        prompt.present,
        target.symbol,
        target.present,
        answer_mask=target.scored,
        alignment=jnp.full_like(target.symbol, -1),
        structure=structure,
    )


def _structure(text: Text) -> dict[str, Array]:
    is_digit = text.significance > 0
    row = jnp.where(is_digit, text.row, 0)  # signs and hints are outside of the grid
    grid = jnp.stack([row, text.significance], axis=-1)
    return {
        "coupled": text.significance,
        "symbols": is_digit,
        "grid": grid,
    }
