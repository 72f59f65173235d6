import numpy as np
import pytest

from pe_lab.contrib.inspection.trained.linear_probe import probe_position

RNG = np.random.default_rng(0)
EVERY = np.ones((40, 10), bool)


def noise(width=6):
    return RNG.standard_normal((*EVERY.shape, width))


def test_a_place_that_is_linearly_encoded_is_read_off():
    hidden = noise()
    hidden[..., 0] = (
        3 * np.arange(10) - 5 + hidden[..., 1]
    )  # the other channel undoes what is on top
    found = probe_position(hidden, EVERY)
    assert found.r2 == pytest.approx(1, abs=1e-6)
    assert found.error == pytest.approx(0, abs=1e-3)


def test_noise_says_nothing_and_the_middle_is_off_by_a_quarter_of_the_length():
    found = probe_position(noise(), EVERY)
    assert -0.1 < found.r2 < 0.05
    assert found.error == pytest.approx(2.5, abs=0.2)


def test_it_is_scored_on_examples_that_it_was_not_fitted_on():
    hidden = np.tile(np.arange(10.0)[None, :, None], (40, 1, 1))
    assert probe_position(hidden, EVERY).r2 == pytest.approx(1)
    hidden[20:] *= -1  # the second half says it the other way round: off by 2p
    found = probe_position(hidden, EVERY)
    assert found.r2 == pytest.approx(
        1 - (4 * np.arange(10.0) ** 2).mean() / np.arange(10).var(), rel=1e-4
    )
    assert found.error == pytest.approx(9)


def test_padding_is_not_read():
    valid = EVERY.copy()
    valid[::2, 7:] = False
    hidden = np.where(valid[..., None], np.arange(10.0)[None, :, None], 1e6)
    assert probe_position(hidden, valid).r2 == pytest.approx(1)


def test_one_place_is_nothing_to_read_and_a_constant_channel_is_no_error():
    assert probe_position(noise()[:, :1], EVERY[:, :1]) is None
    assert probe_position(np.zeros((40, 10, 3)), EVERY).r2 == pytest.approx(0)


def test_one_example_cannot_be_fitted_and_scored():
    assert probe_position(noise()[:1], EVERY[:1]) is None
    assert probe_position(noise()[:2], EVERY[:2]) is not None
