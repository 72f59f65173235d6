import pytest

from pe_lab.contrib.evaluation.measure import clash
from tests.runs.records.test_record_rows import MEASURED_AGAIN, with_an_override


@pytest.mark.parametrize(("rows", "words"), MEASURED_AGAIN)
def test_a_row_that_is_measured_again_is_refused_with_its_point(rows, words):
    assert str(clash(with_an_override(), rows[-1])) == (
        f"The run 0123456789abcdef has {words}: nothing is overwritten. "
        f"With --only-missing, evaluate passes over such points."
    )
