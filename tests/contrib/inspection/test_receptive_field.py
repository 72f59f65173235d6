import numpy as np
import pytest

from pe_lab.contrib.inspection import receptive_field


def test_equal_biases_share_attention_equally_and_what_is_masked_gets_none():
    kernel = np.asarray([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, -np.inf, -np.inf]])
    assert receptive_field.attention(kernel).tolist() == [[0.25] * 4, [0.5, 0.5, 0, 0]]
    assert receptive_field.receptive_field(kernel) == [3, 1]


@pytest.mark.parametrize("slope", [1.0, 0.25])
def test_a_linear_penalty_has_the_receptive_field_of_a_geometric_series(slope):
    kernel = -slope * np.arange(1000.0)[None]
    within = np.ceil(np.log(100) / slope) - 1  # 1 - e^(-slope (r + 1)) >= 0.99
    assert receptive_field.receptive_field(kernel) == [within]


def test_a_share_that_is_met_exactly_is_met():
    assert receptive_field.receptive_field(np.zeros((1, 4)), share=0.75) == [2]
