"""Pictures of the guide that need no training."""

import numpy as np
import pandas as pd
import pytest

from docs.build.guide import untrained_pictures
from pe_lab.results.plots import drawing

ROWS = pd.DataFrame(
    [
        {"encoding": name, "length": length, "seed": seed, "norm": length * (1 + seed)}
        for name in ("raw_index", "sinusoidal")
        for length in (4, 8)
        for seed in (0, 1, 2)
    ]
)


@pytest.fixture(autouse=True)
def _close():
    yield
    drawing.pyplot().close("all")


def test_neighbors_of_bits_are_as_far_apart_as_bits_flip_and_sines_never_jump():
    bits, sines = (line.get_ydata() for line in untrained_pictures.digits().axes[2].get_lines())
    assert bits[[0, 1, 3, 7, 15]] == pytest.approx(np.sqrt([1, 2, 3, 4, 5]))
    assert sines[0] == pytest.approx(np.linalg.norm(np.sin(0.5 ** np.arange(5))))
    assert sines.max() / np.median(sines) < 1.5
    assert bits.max() / np.median(bits) > 2


def test_a_line_goes_through_the_medians_and_each_seed_has_a_dot():
    lines = untrained_pictures.gradient_norms(ROWS).axes[0].get_lines()
    median, seeds = lines[:2]
    assert median.get_label() == "raw_index"
    assert list(median.get_xdata()) == [4, 8]
    assert list(median.get_ydata()) == [8, 16]
    assert list(seeds.get_ydata()) == [4, 8, 12, 8, 16, 24]
