"""Examples that are laid out by hand."""

import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Example

PAD, BEGIN, SEPARATOR, END, BLANK = 8, 9, 10, 11, 12  # of Copy(num_symbols=8)


def example(prompt, target, prompt_bound=3, target_bound=3, alignment=()):
    def padded(values, bound, pad=0):
        return jnp.asarray([*values, *[pad] * (bound - len(values))]), jnp.arange(bound) < len(
            values
        )

    there, said = padded(prompt, prompt_bound), padded(target, target_bound)
    return Example(*there, *said, said[1], padded(alignment, target_bound, -1)[0])


def whole(value):
    return np.asarray(value).astype(int).tolist()
