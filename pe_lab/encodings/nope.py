"""No position encoding: a causal decoder can still infer order from the number of visible tokens.

Equation: none.
Beyond training: defined, attention dilutes.

Haviv et al. 2022, "Transformer Language Models without Positional Encodings Still Learn Positional
Information", https://arxiv.org/abs/2203.16634; Kazemnejad et al. 2023, "The Impact of Positional
Encoding on Length Generalization in Transformers", https://arxiv.org/abs/2305.19466.
Without the causal mask the model sees a bag of words, which is a negative control.
"""

from pe_lab.encodings.base import AttentionEncoding
from pe_lab.encodings.requirements import Requirements


class NoPE(AttentionEncoding):
    """Every hook is the identity."""

    requirements = Requirements(relative=True, reads_positions=False, cross=True)
