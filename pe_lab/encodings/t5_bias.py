"""T5's relative bias: a learned number for each head and each bucket of distances.

Equation: table[bucket(j − i), h].
Beyond training: last bucket.

Raffel et al. 2019, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
Transformer", section 2.1, https://arxiv.org/abs/1910.10683.

Differs from T5 in the unit: T5 leaves out 1 / sqrt(Dh) and adds the bias to raw q·k. Here the bias
is added after scaling, like every bias in pe_lab. The initialization is normal(D^-0.5), as in
Hugging Face's T5.
"""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int, Shaped

from pe_lab.encodings.base import OffsetBias
from pe_lab.encodings.requirements import Requirements


class T5Bias(OffsetBias):
    """Half of the buckets hold one distance each; the others grow logarithmically to max_distance.

    All layers share one table unless share=False. In bidirectional attention the past and the
    future have half of the buckets each.

    Args:
      num_buckets: number of buckets, 32 in the paper.
      max_distance: this distance and all larger ones share the last bucket; 128 in the paper.
    """

    requirements = Requirements(only_bias=True, relative=True, whole_positions=True, cross=True)

    def __init__(
        self,
        *,
        num_buckets: int = 32,
        max_distance: int = 128,
        width: int,
        num_heads: int,
        bidirectional: bool = False,
        rngs: nnx.Rngs,
    ):
        one_side = num_buckets // 2 if bidirectional else num_buckets
        if one_side < 2 or max_distance <= one_side // 2:
            got = f"num_buckets={num_buckets}, max_distance={max_distance}"
            raise ValueError(
                "T5Bias needs two buckets a side or more and a max_distance beyond half of a side, "
                f"got {got}."
            )
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.two_sided = bidirectional
        shape = (num_buckets, num_heads)
        normal = jax.random.normal(rngs.params(), shape, jnp.float32)
        self.table = nnx.Param(width**-0.5 * normal)

    def bucket(self, offsets: Shaped[Array, "*o"]) -> Int[Array, "*o"]:
        """The bucket of each offset, key position - query position."""
        if self.two_sided:
            buckets = self.num_buckets // 2
            first_bucket = jnp.where(offsets > 0, buckets, 0)
            distance = jnp.abs(offsets)
        else:
            buckets = self.num_buckets
            first_bucket = jnp.zeros_like(offsets)
            distance = jnp.maximum(-offsets, 0)
        exact = buckets // 2  # distances below it have a bucket of their own
        positive = jnp.maximum(distance, 1).astype(jnp.float32)  # 0 has no logarithm
        log_distance = jnp.log(positive / exact)  # below 0 for distances that have their own bucket
        log_range = math.log(self.max_distance / exact)
        ratio = log_distance / log_range
        steps = ratio * (buckets - exact)
        beyond = exact + steps.astype(jnp.int32)  # truncated, as in T5
        beyond = jnp.minimum(beyond, buckets - 1)
        bucket = jnp.where(distance < exact, distance, beyond)
        return first_bucket + bucket

    def of_offset(self, offset: Shaped[Array, "*o"]) -> Float[Array, "h *o"]:
        by_head = self.table[...].T  # [H, buckets]
        return jnp.take(by_head, self.bucket(offset), axis=1)  # [H, *O]
