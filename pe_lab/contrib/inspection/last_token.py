"""The logits of the last token under one encoding, and the hooks that produce them."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Num, PyTree

from pe_lab.contrib.inspection.draws import Draws
from pe_lab.encodings.base import AttentionEncoding, Tokens

LOGIT_HOOKS = ("transform_qk", "bias", "content_bias", "mask", "transform_logits")
HOOKS = (*LOGIT_HOOKS, "normalize", "combine")
_HOOK_OF_PART = {"logits": "transform_logits", "normalize": "normalize", "combine": "combine"}
Terms = dict[str, PyTree]  # hook -> array, or a pair of arrays


class LastToken:
    """The query of the last token, the keys of all tokens, and the tokens of both."""

    def __init__(
        self, encoding: AttentionEncoding, positions: Num[Array, "1 l *a"], draws: Draws
    ) -> None:
        length = positions.shape[1]
        count, _, *of_heads = draws.k.shape
        self.encoding = encoding
        self.draws = draws
        self.length = length
        self.q = jnp.asarray(draws.q)
        # The same key at every position, so that only the position changes the logits.
        self.k = jnp.broadcast_to(draws.k, (count, length, *of_heads))
        x = jnp.broadcast_to(draws.x, (count, length, draws.x.shape[-1]))
        slots = jnp.arange(length)[None]
        lengths = jnp.asarray([length])
        query_state, key_state = encoding.features(x, positions)
        of_tokens = (positions, slots, query_state)
        last_position, last_slot, last_state = jax.tree.map(lambda a: a[:, -1:], of_tokens)
        self.Q = Tokens(last_position, last_slot, lengths, last_state)
        self.K = Tokens(positions, slots, lengths, key_state)

    def terms(self) -> Terms:
        """Return values of the hooks that change something."""
        q, k = self.q, self.k
        Q, K = self.Q, self.K
        new_q, new_k = self.encoding.transform_qk(q, k, Q, K)
        is_same = new_q is q and new_k is k  # the default of the hook returns its arguments
        returned = {
            "transform_qk": None if is_same else (new_q, new_k),
            "bias": self.encoding.bias(Q, K),
            "content_bias": self.encoding.content_bias(q, k, Q, K),
            "mask": self.encoding.mask(Q, K),
        }
        return {hook: value for hook, value in returned.items() if value is not None}

    def logits(
        self, num_heads: int, *, bias_only: bool
    ) -> tuple[Float[Array, "n h 1 l"], Bool[Array, "n h 1 l"]]:
        """Logits and mask; n is 1 if only the bias is read, which needs no queries."""
        terms = self.terms()
        row = (1, 1, 1, self.length)
        allowed = terms.get("mask", jnp.ones(row, bool))
        # A bias is the same for all queries, so its table has one row per head.
        if bias_only:
            s = terms.get("bias", jnp.zeros(row))
        else:
            q, k = terms.get("transform_qk", (self.q, self.k))
            s = self.draws.factor * jnp.einsum("blhe,bshe->bhls", q, k)
            for hook in ("bias", "content_bias"):
                if hook in terms:
                    s = s + terms[hook]
            s = self.encoding.transform_logits(s, self.q, self.k, self.Q, self.K, allowed)
        shape = (len(s), num_heads, 1, self.length)
        return jnp.broadcast_to(s, shape), jnp.broadcast_to(allowed, shape)


def active_hooks(
    encoding: AttentionEncoding, positions: Num[Array, "1 l *a"], draws: Draws
) -> tuple[str, ...]:
    """Hooks that return a term or other queries and keys, or that are declared to replace."""

    def terms(draws: Draws) -> Terms:
        return LastToken(encoding, positions, draws).terms()

    # Shapes are enough to see which hooks return something.
    active = set(jax.eval_shape(terms, draws))
    active |= {_HOOK_OF_PART[part] for part in encoding.requirements.replaces}
    return tuple(hook for hook in HOOKS if hook in active)
