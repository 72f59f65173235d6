import pytest

from pe_lab.tasks.reverse import Reverse


def oracle(task, prompt):
    return prompt[::-1]


def test_one_symbol_is_refused():
    with pytest.raises(ValueError, match="Reverse needs two symbols or more"):
        Reverse(num_symbols=1)
