"""The cost of a forward pass, for reports of speed."""

from collections.abc import Mapping

from pe_lab.runs.run import Model


def forward_flops(model: Model, vocabularies: Mapping[str, int], lengths: Mapping[str, int]) -> int:
    """Floating-point operations of the matrix products of one example without padding.

    Args:
      vocabularies, lengths: of each stack; the stack that gives the logits is last.
    """
    width, depth = model.width, model.num_layers * model.num_loops
    matrices = 3 if model.activation == "swiglu" else 2
    per_token = depth * (4 * width**2 + matrices * width * model.feedforward_width)
    products = sum(n * (per_token + depth * 2 * n * width) for n in lengths.values())
    answering = list(lengths)[-1]
    if len(lengths) == 2:
        # Cross-attention: queries, outputs and products for every loop; keys and values once.
        source, target = lengths["encoder"], lengths["decoder"]
        every_loop = depth * target * (width + source)
        products += 2 * width * (every_loop + model.num_layers * width * source)
    return 2 * (products + lengths[answering] * width * vocabularies[answering])
