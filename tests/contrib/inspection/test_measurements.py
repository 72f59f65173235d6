import numpy as np
import pytest

from pe_lab.contrib.inspection import exposure, measurements, rotation_angles
from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from pe_lab.runs.errors import UserError
from tests import reference
from tests.contrib.inspection import tables
from tests.contrib.inspection.probes import probe

pytestmark = pytest.mark.full

OWN = "tests.contrib.inspection.user_encodings:"


def test_the_encodings_have_the_reference_values_in_float32():
    keys = {
        "uniqueness_min_dist": "smallest distance",
        "alias_margin": "alias margin",
        "step_max_over_median": "largest step / median",
    }
    keys |= {
        "participation_ratio": "effective dimension",
        "mean_sq_norm": "mean square norm",
        "half_decay_lag": "half of its similarity at",
    }
    keys |= {
        "first_increase_lag": "decay stops at",
        "toeplitz_fraction": "share that the offset decides",
    }
    keys |= {
        "ood_coordinate_fraction_2L": "coordinates out of range",
        "adjacent_equal_bf16_L4096": "equal neighbors of 4096, bfloat16",
    }
    for name, entry in {"sinusoidal": "diag_sinusoidal_d16", "raw_index": "diag_raw_index"}.items():
        found, expected = measurements.measure(probe(name, 64)), reference.entry(entry)["value"]
        for key, own in keys.items():
            assert found[own] == (
                expected[key] if expected[key] is None else pytest.approx(expected[key], rel=1e-4)
            ), (name, key)


@pytest.mark.parametrize(
    "given",
    [
        dict(layout="interleaved"),
        dict(layout="half"),
        dict(fraction=0.5),
        dict(proportion=0.5),
        dict(scaling="linear", factor=4.0),
    ],
)
def test_the_angles_of_pairs_are_read_off_whatever_the_layout(given):
    rope = probe("rope", **given)
    own = np.zeros(4)
    own[: len(rope.encoding.frequencies)] = rope.encoding.frequencies
    found = rotation_angles.frequencies(rope)
    np.testing.assert_allclose(found, [own, own], atol=1e-6)


def test_a_length_that_slows_pairs_down_shows_in_their_angles():
    slow = probe("rope", scaling="dynamic_ntk", factor=2.0, trained_length=4)
    assert rotation_angles.frequencies(slow)[0, -1] < 0.9 * slow.encoding.frequencies[-1]


def test_axes_share_pairs_and_heads_may_turn_each_at_their_own_speed():
    axial, mixed = (
        rotation_angles.frequencies(probe("axial_rope")),
        rotation_angles.frequencies(probe("mixed_rope")),
    )
    np.testing.assert_allclose(axial[0], [1, 1, 0.1, 0.1], atol=1e-6)
    assert not np.allclose(mixed[0], mixed[1], atol=1e-2)


def test_what_is_no_linear_map_says_its_frequencies_itself():
    np.testing.assert_allclose(
        rotation_angles.frequencies(probe("pope"))[0], 10000.0 ** (-np.arange(8) / 8)
    )


def test_one_of_a_users_own_is_read_in_the_same_way():
    turns = probe(OWN + "TurnsHalf")
    np.testing.assert_allclose(
        rotation_angles.frequencies(turns)[0], [np.pi / 2, 0, 0, 0], atol=1e-6
    )
    found = measurements.measure(turns)
    assert (found["colliding pairs"], found["pairs that complete a period"], found["unseen"]) == (
        4,
        1,
        0,
    )  # 0 and 4, …, 3 and 7
    assert found["change by a common shift"] < 1e-5


@pytest.mark.parametrize(
    ("name", "is_new"),
    [("learned", [True] * 8), ("sinusoidal", [False] * 8), (OWN + "LastOfATable", [True] * 8)],
)
def test_rows_of_a_table_are_untrained_beyond_the_length(name, is_new):
    assert exposure.untrained_rows(probe(name)).tolist() == is_new


def test_what_the_last_row_says_of_far_distances_was_trained():
    assert not exposure.untrained_rows(probe("shaw", clip=4)).any()
    t5 = exposure.untrained_rows(probe("t5_bias", num_buckets=8, max_distance=16))
    assert t5.tolist() == [True] * 8  # 0..7 end in the sixth of eight buckets
    assert (
        exposure.untrained_rows(
            probe("t5_bias", num_buckets=8, max_distance=16, length=24)
        ).tolist()
        == [False] * 24
    )


def test_exposure_counts_positions_pairs_or_attention():
    assert measurements.measure(probe("single_sine"))["unseen"] == 0
    assert measurements.measure(probe("sinusoidal"))["unseen"] == 1
    assert (
        measurements.measure(probe("rope"))["unseen"] == 0.75
    )  # of 4 pairs the fastest comes round in 8 positions
    e, two = np.exp, -np.asarray([2.0**-4, 2.0**-8])  # ALiBi's slopes
    beyond = np.mean([e(s * np.arange(8, 16)).sum() / e(s * np.arange(16)).sum() for s in two])
    assert measurements.measure(probe("alibi"))["unseen"] == pytest.approx(beyond, rel=1e-4)


def test_positions_that_an_encoding_in_attention_lacks_have_no_numbers():
    numbers = measurements.measure(probe(OWN + "ShortTable"))
    assert numbers["change by a common shift"] is None
    assert 0 < numbers["unseen"] < 1  # it has twice the length
    long = UntrainedEncoding({"name": OWN + "ShortTable"}, 32, width=16, num_heads=2)
    assert measurements.measure(long)["unseen"] is None


def test_lengths_that_the_scheme_has_no_positions_for_are_not_asked():
    """Its positions beyond would be negative."""
    short = UntrainedEncoding({"name": "alibi"}, 8, 16, 2, {"name": "randomized", "maximum": 15})
    found = measurements.measure(short)
    assert (
        found["coordinates out of range"],
        found["unseen"],
        found["tokens of the receptive field"],
    ) == (None, None, 8)
    enough = measurements.measure(
        UntrainedEncoding({"name": "alibi"}, 8, 16, 2, {"name": "randomized", "maximum": 16})
    )
    assert enough["unseen"] > 0
    assert measurements.measure(probe("alibi"))["tokens of the receptive field"] == 128
    turns = measurements.measure(
        UntrainedEncoding({"name": "rope"}, 8, 16, 2, {"name": "randomized", "maximum": 15})
    )
    assert "pairs that complete a period" not in turns  # the steps between positions are random
    assert turns["unseen"] is None


def test_the_receptive_field_is_told_by_head():
    found = measurements.measure(probe("hard_alibi", num_heads=4, masked_heads=3))
    assert [found[f"99% of head {h} within"] for h in (1, 2, 3, 4)] == [
        0,
        1,
        2,
        126,
    ]  # of 128 keys, 99% are 127


def test_a_far_shift_changes_what_is_not_relative():
    assert measurements.measure(probe("alibi"))["change by a common shift"] == 0
    assert (
        measurements.measure(probe("fire", start_threshold=16.0))["change by a common shift"] > 0.01
    )
    assert measurements.measure(probe("chunks", size=4))["change by a common shift"] > 0.1


@pytest.mark.parametrize("width", [64, 768])
def test_the_shift_map_is_found_at_each_width(width):
    wide = UntrainedEncoding({"name": "sinusoidal"}, 16, width=width, num_heads=2)
    assert measurements.measure(wide)["shift residual"] < 1e-6


def test_norms_grow_with_the_width_where_channels_do():
    assert measurements.measure(probe("sinusoidal"))[
        "growth of square norm with width"
    ] == pytest.approx(1)
    assert measurements.measure(probe("raw_index"))[
        "growth of square norm with width"
    ] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", ["raw_index", "single_sine", "learned", "alibi", "kerple", "shaw"])
def test_one_position_of_width_one_is_no_error(name):
    found = measurements.measure(probe(name, length=1, width=1, num_heads=1))
    assert found["colliding pairs"] == 0
    assert [
        found[key]
        for key in ("smallest distance", "largest step / random pair", "nearer is more similar")
    ] == [None] * 3
    assert all(value is None or np.isfinite(value) for value in found.values())


def test_what_adds_nothing_has_no_numbers():
    assert (
        measurements.measure(probe("nope")) == measurements.measure(probe(OWN + "MixesAlone")) == {}
    )
    assert (
        probe(OWN + "MixesAlone").why_none == "it acts only in combine and does not change logits"
    )


def test_a_code_that_is_not_a_number_is_refused():
    with pytest.raises(
        UserError,
        match=(
            r"NotANumber is not a finite number at some of its positions, up to a length of "
            r"128\."
        ),
    ):
        measurements.measure(probe(OWN + "NotANumber"))


def test_decay_by_the_mean_cosine():
    curve = measurements.similarity_by_distance(probe("rope", width=128, num_heads=2), 64)
    np.testing.assert_allclose(
        curve[0],
        # A logit is divided by the square root of the head width, 64.
        np.cos(np.multiply.outer(np.arange(64), tables.frequencies(64))).mean(axis=1) / 8,
        atol=1e-6,
    )
