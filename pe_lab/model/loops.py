"""The inputs of each loop of a stack whose layers are applied several times.

The state x of the first loop is zero, and e is the embedding. Without an injection, the layers read
e, then x:

    add      the layers read x + e
    linear   the layers read W [x; e]

Yang et al. 2024, "Looped Transformers are Better at Learning Learning Algorithms",
https://arxiv.org/abs/2311.12424: "add" from a state of zeros (Leiay/looped_transformer at 6b3bdb2,
scripts/models.py). Fan et al. 2024, "Looped Transformers for Length Generalization",
https://arxiv.org/abs/2409.15647: the input is injected in each loop. McLeish et al. 2024,
https://arxiv.org/abs/2405.17399: "add" and "linear".

Differs from the code of McLeish et al. (mcleish7/arithmetic at 55af9d5,
cramming/architectures/crammed_depthrecurrent.py), where the first state is noise of standard
deviation 0.02. Their training draws loops without gradient and then loops with gradient; here all
drawn loops have a gradient. Yang et al. average the loss over the last loops; here the last loop
alone has a loss.
"""

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from pe_lab.kernels import Kernels
from pe_lab.runs.settings.settings import Model


class LoopInputs(nnx.Module):
    """The inputs of the first layer in a loop."""

    def __init__(self, model: Model, *, kernels: Kernels, rngs: nnx.Rngs):
        def linear() -> nnx.Linear:
            return nnx.Linear(
                2 * model.width,
                model.width,
                use_bias=False,
                dtype=jnp.dtype(model.compute_dtype),
                dot_general=kernels.dot_general,
                rngs=rngs,
            )

        # One assignment, because Flax decides by the first whether an attribute holds parameters.
        self.linear = linear() if model.loop_injection == "linear" else None

    def __call__(
        self,
        x: Float[Array, "b l d"],
        embedding: Float[Array, "b l d"],
        loop: int,
    ) -> Float[Array, "b l d"]:
        """The inputs of a loop.

        Args:
          x: the outputs of the loop before it; not read in the first loop.
          embedding: the inputs of the first loop.
        """
        if loop == 0:
            x = jnp.zeros_like(embedding)
        if self.linear is None:
            return x + embedding
        both = jnp.concatenate([x, embedding], axis=-1)  # [B, L, 2 D]
        return self.linear(both)
