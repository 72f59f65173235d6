"""The cost of a forward pass, for reports of speed.

Short convolutions are no matrix products and do not count.
"""

from collections.abc import Mapping

from pe_lab.model.streams import answering_stack
from pe_lab.runs.settings.settings import Model


def forward_flops(
    model: Model,
    vocabularies: Mapping[str, int],
    lengths: Mapping[str, int],
) -> int:
    """Floating-point operations of the matrix products of one example without padding.

    Args:
      vocabularies, lengths: of each stack; the stack that gives the logits is last.
    """
    width = model.width
    depth = model.num_layers * model.num_loops
    num_matrices = 3 if model.activation in ("swiglu", "geglu") else 2
    projections = 4 * width**2  # queries, keys, values and outputs
    feedforward = num_matrices * width * model.feedforward_width
    products = 0
    for length in lengths.values():
        # All keys count, also those that a causal mask hides.
        pairs = 2 * length * width  # q·k and the sum of values, for one query
        mixing = projections + pairs
        if model.mixer != "attention":
            num_gates = {"lstm": 4, "gru": 3}[model.mixer]
            mixing = 2 * num_gates * width**2  # of inputs and of states
        products += length * depth * (mixing + feedforward)
        num_shifts = {"none": 0, "keys": 1, "values": 1, "both": 2}[model.token_shift]
        products += length * depth * num_shifts * width * model.num_heads
        gates = {"none": 0, "head": model.num_heads, "element": width}[model.output_gate]
        products += length * depth * width * gates
        if model.loop_injection == "linear":
            products += length * model.num_loops * 2 * width**2
    if len(lengths) == 2:
        # Cross-attention: queries, outputs and products for every loop; keys and values once.
        source, target = lengths["encoder"], lengths["decoder"]
        products += depth * target * width * gates
        queries = depth * target * (width + source)
        keys = model.num_layers * width * source
        products += 2 * width * (queries + keys)
    answering = answering_stack(lengths)
    output = lengths[answering] * width * vocabularies[answering]
    return 2 * (products + output)  # a product and a sum
