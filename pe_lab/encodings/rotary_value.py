"""RoPE on values as well: the output of attention depends on the offsets of the values.

Equation: RoPE, and out = Σ w · R(j−i) v.
Beyond training: unseen angles.

Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding",
https://arxiv.org/abs/2104.09864, for the rotation. The rotation of values is `rotary_value` of
Hugging Face's RoFormer, modeling_roformer.py.

There a value is rotated by its own position, which is absolute. Here outputs are rotated back by
the query's position, so that a value is rotated by its offset from the query. absolute=True leaves
this second rotation out.
"""

from typing import Literal

from flax import nnx
from jaxtyping import Array, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens, weighted_sum
from pe_lab.encodings.ops import angles, check_positive, geometric_frequencies, rotate
from pe_lab.encodings.requirements import Requirements


class RotaryValue(AttentionEncoding):
    """out = sum over keys of w * R(p' - p) v, with logits q · R(p' - p) k and R a rotation.

    Relative, except with absolute=True, where out = sum of w * R(p') v. Angles are exact to 1e-6
    below position 2^24.

    Args:
      base: base of the geometric series of wavelengths, 10000 in the paper.
      layout: a pair is two neighboring channels ("interleaved", as in the paper), or channels m and
        m + r/2 ("half").
      fraction: share of the head width that rotates, r = fraction * Dh.
      absolute: do not rotate outputs back, as in RoFormer's code.
    """

    requirements = Requirements(relative=True, cross=True, replaces=("combine",))

    def __init__(
        self,
        *,
        base: float = 10000.0,
        layout: Literal["interleaved", "half"] = "interleaved",
        fraction: float = 1.0,
        absolute: bool = False,
        head_dim: int,
        rngs: nnx.Rngs | None = None,
    ):
        check_positive("RotaryValue", base=base, fraction=fraction)
        num_rotated = round(fraction * head_dim)
        if num_rotated % 2 or not 2 <= num_rotated <= head_dim:
            raise ValueError(
                f"RotaryValue rotates pairs, so {fraction} of the head width {head_dim} must be "
                f"an even number of channels."
            )
        self.head_dim = head_dim
        self.frequencies = geometric_frequencies(base, num_rotated)
        self.layout = layout
        self.absolute = absolute
        self.require(relative=not absolute)

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        q = self._rotate(q, Q)
        k = self._rotate(k, K)
        return q, k

    def combine(
        self, w: Float[Array, "b h l s"], v: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b l h e"]:
        rotated_values = self._rotate(v, K)
        out = weighted_sum(w, rotated_values)
        if self.absolute:
            return out
        # R(p') v rotated back by the query's position p is R(p' - p) v.
        return self._rotate(out, Q, sign=-1.0)

    def _rotate(
        self, x: Float[Array, "b l h e"], tokens: Tokens, sign: float = 1.0
    ) -> Float[Array, "b l h e"]:
        # A sign is safe; another factor would not scale the whole turns that `angles` leaves out.
        angle = sign * angles(tokens.positions, self.frequencies)
        return rotate(x, angle[:, :, None], self.layout)
