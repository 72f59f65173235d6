"""The sum of two binary numbers, least significant bit first.

    0 0 1 + 0 1 1 0 1 -> 0 1 0 1 1 end 0 0 0 0
    1 0 0 1 + 0 0 0 0 0 1 -> 1 0 0 1 0 1  # padded=False
    0 1 -> 0 1 end

The length counts both numbers and the operator. The size of the first number is uniform among those
that leave a bit for the second one. Each number is uniform among the positive numbers of its size,
with zeros after its highest bit. Prompts of one or two symbols are one number, which is its own
sum. Their bits are uniform, but not all of them are 1.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "binary_addition", lengths 1..40 in training, up to 500 in the
test. Their target has one symbol more than the prompt. Their loss counts all of it; their accuracy
ends with the terminator.
"""

from dataclasses import dataclass

from pe_lab.tasks._binary import TwoNumbers


@dataclass(frozen=True)
class BinaryAddition(TwoNumbers):
    """The target is the sum. Bits of equal significance are coupled."""

    operator = "+"
    extra = 1

    def columns(self, a, b):
        return a + b
