"""No position encoding: a causal decoder can still tell order from how many tokens it sees.

Haviv et al. 2022, "Transformer Language Models without Positional Encodings Still Learn Positional
Information", https://arxiv.org/abs/2203.16634; Kazemnejad et al. 2023, "The Impact of Positional
Encoding on Length Generalization in Transformers", https://arxiv.org/abs/2305.19466.
Without the causal mask it is a bag of words: a negative control.
"""

from pe_lab.encodings.base import AttentionEncoding


class NoPE(AttentionEncoding):
    """Every hook is the identity."""

    relative = True
    reads_positions = False
    cross = True
