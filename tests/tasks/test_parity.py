import numpy as np

from pe_lab.tasks.parity import Parity


def test_worked_examples():
    assert Parity().oracle(np.array([1, 0, 1, 0, 1])).tolist() == [1]
    assert Parity().oracle(np.array([1, 1])).tolist() == [0]


def test_one_answer_whatever_the_length():
    assert [Parity().target_bound(n) for n in (1, 40)] == [1, 1]
    assert Parity().length_name == "bits"
