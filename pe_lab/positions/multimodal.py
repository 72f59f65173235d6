"""Three positions per token of a text with images: time, height and width.

Position of token t of n: (p, p, p) in a text; (p, p + row, p + column) in an image at p, or
(p, row, column) with reset=True.

Wang et al. 2024, "Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any
Resolution", https://arxiv.org/abs/2409.12191, section 2.1. It follows get_rope_index in
huggingface/transformers 5.24.0, models/qwen2_vl/modeling_qwen2_vl.py, for images of one time.
The reset is the spatial reset of Huang et al. 2025, https://arxiv.org/abs/2510.23095, checked in
the authors' code (JJJYmmm/Multimodal-RoPEs at 1c8ae64, pos_design/mrope_i.py).

Images are the cells of structure["grid"] of the task, whose tokens have a row and a column from 1.
Other tokens are text. An image is read row by row from its top left cell. A cell after a text, or
out of this order, begins another image. Digits from the most significant one are thus a text.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Num

from pe_lab.positions.base import Keys, Mask, PositionScheme, required


@dataclass(frozen=True)
class Multimodal(PositionScheme):
    """A text advances by 1 on all axes, and an image by the larger one of its height and width.

    All tokens of an image have one time. The text after it goes on at one more than the largest
    number in it. Rows and columns count from those of the image's first cell.

    Args:
      reset: rows and columns of every image are counted from 0, so that they are the same wherever
        the image is. Times, and the positions of a text, are those without a reset.
    """

    reset: bool = False

    ascending = False
    num_axes = 3
    follows = "grid"

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Num[Array, "n _ l a"]:
        numbers = required(self, structure, "grid")
        is_start = jnp.zeros_like(mask).at[:, 0].set(True)  # of an example
        if segments is not None:
            changes = segments[:, 1:] != segments[:, :-1]
            is_start = is_start.at[:, 1:].set(changes)
        of_context = functools.partial(_positions, reset=self.reset)
        positions = jax.vmap(of_context)(numbers, is_start)
        positions = jnp.where(mask[..., None], positions, 0)
        return positions[None]

    def bound(self, length: int, train: bool) -> int | float:
        return length - 1


def _positions(
    numbers: Int[Array, "l 2"], is_start: Bool[Array, "l"], *, reset: bool
) -> Int[Array, "l 3"]:
    """Positions of the tokens of one context."""
    length = len(numbers)
    is_cell = (numbers > 0).all(axis=1)
    row, column = numbers[:, 0], numbers[:, 1]
    is_below = row[1:] > row[:-1]
    is_to_the_right = (row[1:] == row[:-1]) & (column[1:] > column[:-1])
    continues = jnp.pad(is_cell[:-1] & (is_below | is_to_the_right), (1, 0))
    is_first = is_cell & (~continues | is_start)  # of an image
    # No offset may be negative: a row that begins to the left of the first cell is another image.
    is_first |= is_cell & (column < column[_latest(is_first)])

    first_index = _latest(is_first)
    offsets = numbers - numbers[first_index]
    offsets = jnp.where(is_cell[:, None], offsets, 0)
    image = jnp.cumsum(is_first)  # 1, 2, ...; a text has the number of the image before it
    size = jax.ops.segment_max(offsets.max(axis=1) + 1, image, num_segments=length + 1)

    # The first cell of an image advances for all of it. Its size cancels out inside of the image,
    # so that a token depends on earlier ones alone.
    of_cell = jnp.where(is_first, size[image], 0)
    advance = jnp.where(is_cell, of_cell, 1)
    after = jnp.cumsum(advance)
    before = jnp.where(is_cell, after - size[image], after - 1)
    before_example = jax.lax.cummax(jnp.where(is_start, after - advance, 0))
    time = before - before_example
    start = jnp.where(is_cell, 0, time) if reset else time
    return jnp.stack([time, start + offsets[:, 0], start + offsets[:, 1]], axis=-1)


def _latest(is_first: Bool[Array, "l"]) -> Int[Array, "l"]:
    """The index of the latest first cell at each token; 0 before any."""
    index = jnp.arange(len(is_first))
    return jax.lax.cummax(jnp.where(is_first, index, 0))
