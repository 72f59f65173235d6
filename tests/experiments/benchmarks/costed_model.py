"""A small model whose costs are worked by hand."""

from tests import tiny

WIDTH, WORDS, TOKENS, BATCH = 16, 6 + 5, 1 + 3 + 1 + 3, 8
LAYER = (
    4 * WIDTH**2 + 2 * (WIDTH**2 + WIDTH) + 2 * 2 * WIDTH
)  # attention, feed-forward with biases, two norms


def run(*encodings, **changes):
    return tiny.run(*(encodings or ("nope",)), train__min_length=3, **changes)
