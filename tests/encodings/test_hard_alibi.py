import numpy as np
import pytest

from pe_lab.encodings.hard_alibi import HardALiBi
from tests import reference
from tests.encodings import codes
from tests.models import ARCHITECTURES

ARGUMENTS = {"masked_heads": 2}  # of two heads the first sees itself alone
# The masked head sees its own token at any position.
EXCUSED = [({"masked_heads": 1}, ARCHITECTURES, "positions_are_read_not_indices", "0.0")]
SENSITIVE = {"masked_heads": (1, 2)}
REFUSALS = [
    (dict(masked_heads=3), r"must be 1\.\.2, the heads that there are, got 3"),
]


def test_agrees_with_reference():
    t = codes.tokens(range(5))
    reference.assert_agrees(
        HardALiBi(masked_heads=3, num_heads=3).mask(t, t)[0], "hard_alibi_masks_3heads_L5"
    )


@pytest.mark.slow
def test_heads_beyond_the_masked_ones_are_free():
    t = codes.tokens([0, 4, 9])
    mask = HardALiBi(num_heads=4).mask(t, t)[0]
    np.testing.assert_array_equal(mask[:2], np.broadcast_to(np.eye(3, dtype=bool), (2, 3, 3)))
    assert mask[2:].all()
