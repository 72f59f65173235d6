"""The runs that two studies share, where the answer is known."""

import pytest

from results.published.combine import page
from tests.contrib.prose.test_numbers import study


def test_runs_that_two_studies_have_with_other_numbers_are_counted_with_the_largest_gap(tmp_path):
    """Seed 0 is equal, seed 1 differs by 0.123, seed 2 is in one study alone."""
    one = study(tmp_path / "one", {"rope": [0.5, 0.5, 0.5]})
    other = study(tmp_path / "other", {"rope": [0.5, 0.623]})
    gaps = page.of_studies(one.study, other.study)
    assert gaps.to_dict() == {"rope1": pytest.approx(0.123)}
