import numpy as np
import pytest

from pe_lab.encodings.ops import alibi_slopes
from pe_lab.runs.errors import UserError
from tests.contrib.inspection import tables
from tests.contrib.inspection.probes import probe

NORMALIZED = {"name": "normalized"}


@pytest.mark.parametrize(
    ("kind", "names"),
    {
        "embedding": ("sinusoidal", "learned"),
        "rotation": ("rope", "xpos", "pope", "axial_rope", "rotary_value"),
        "bias": ("alibi", "fire", "sliding_window", "hard_alibi"),
        "content": ("shaw", "deberta", "relative_logits", "self_extend", "dape"),
        None: (
            "nope",
            "cope",
            "fox",
            "path",
            "selective_rope",
            "stick_breaking",
            "position_temperature",
        ),
    }.items(),
)
def test_the_kind_follows_from_what_an_encoding_acts_in(kind, names):
    given = {
        "sliding_window": {"size": 4},
        "dape": {"inner": {"name": "alibi"}},
        "position_temperature": {"start": 4},
    }
    assert {name: probe(name, **given.get(name, {})).kind for name in names} == dict.fromkeys(
        names, kind
    )


@pytest.mark.slow
def test_the_table_of_a_code_is_the_code_of_each_position():
    np.testing.assert_allclose(
        probe("sinusoidal").table(50), tables.sinusoidal(np.arange(50)), atol=2e-6
    )
    np.testing.assert_allclose(
        probe("sinusoidal").table(5, shift=100), tables.sinusoidal(np.arange(100, 105)), atol=2e-6
    )
    np.testing.assert_allclose(
        probe("sinusoidal").embeddings_at(np.asarray([3, 99])),
        tables.sinusoidal([3, 99]),
        atol=2e-6,
    )


def test_the_table_of_a_bias_has_a_row_a_distance_and_a_column_a_head():
    np.testing.assert_allclose(
        probe("alibi").table(6), np.outer(np.arange(6), -np.asarray(alibi_slopes(2))), rtol=1e-6
    )


def test_a_mask_is_told_in_columns_of_its_own_and_leaves_no_logit():
    window = probe("sliding_window", size=3)
    assert window.table(5).tolist() == [[1, 1], [1, 1], [1, 1], [0, 0], [0, 0]]
    assert window.logits(5).tolist() == [[0, 0, 0, -np.inf, -np.inf]] * 2


def test_the_last_of_17_sees_one_key_of_its_chunk():
    assert probe("chunks", size=16).table(17)[:, 0].tolist() == [1] + [0] * 16


def test_a_turns_table_is_the_product_of_queries_and_keys_turned_by_the_distance():
    rope = probe("rope")
    draws = rope.draws()
    q, k, factor = draws.q, draws.k, draws.factor
    angle = np.multiply.outer(np.arange(6), tables.frequencies(8))[:, None, None]  # [S, 1, 1, P]
    (qx, qy), (kx, ky) = ((a[None, :, 0, :, 0::2], a[None, :, 0, :, 1::2]) for a in (q, k))
    # R(p) q · R(p - d) k = q · R(-d) k
    expected = ((qx * kx + qy * ky) * np.cos(angle) + (qx * ky - qy * kx) * np.sin(angle)).sum(
        axis=-1
    ) * factor
    np.testing.assert_allclose(rope.table(6), expected.reshape(6, -1), atol=1e-5)


def test_the_mean_over_all_directions_is_the_mean_cosine_exactly():
    found = probe("rope").logits(40, self_keys=True).mean(axis=0)
    cosines = np.cos(np.multiply.outer(np.arange(40), tables.frequencies(8)))
    # Unit queries and keys, divided by the square root of the head dimension.
    np.testing.assert_allclose(found, cosines.mean(axis=1) / np.sqrt(8), atol=1e-6)


def test_the_logit_of_an_equal_key_is_that_of_the_group_beyond_the_window():
    """Beyond the window, Self-Extend sees groups of four positions, so four logits are equal."""
    logits = probe("self_extend", 16, window=8, group=4).logits(16, self_keys=True).mean(axis=0)
    np.testing.assert_allclose(logits[8:12], logits[8], atol=1e-5)


@pytest.mark.parametrize("name", ["shaw", "music_transformer", "deberta", "relative_logits"])
def test_what_queries_decide_has_no_mean(name):
    K = probe(name).logits(8, self_keys=True)
    np.testing.assert_allclose(K.mean(axis=0), K.mean(), atol=1e-6)
    assert K.std(axis=1).max() > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nope", "cope"])
def test_random_tokens_are_attended_to_equally_where_the_start_says_nothing(name):
    weights = probe(name).attention_of_random_tokens(8)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    np.testing.assert_allclose(weights.mean(axis=(0, 1)), 1 / 8, atol=0.01)


def test_a_token_that_breaks_sticks_does_not_see_itself():
    by_distance = probe("stick_breaking").attention_of_random_tokens(8).mean(axis=(0, 1))
    assert by_distance[0] == 0
    assert (np.diff(by_distance[1:]) < 0).all()


def test_two_axes_get_the_same_position():
    E = probe("sinusoidal_2d").table(4)
    np.testing.assert_array_equal(E[:, :8], E[:, 8:])


def test_a_scheme_gives_the_positions_and_stands_in_the_name():
    normalized = probe("raw_index", positions=NORMALIZED)
    assert normalized.table(5)[:, 0].tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert (normalized.name, probe("rope", base=500.0).name) == (
        "raw_index of normalized",
        "rope(base=500.0)",
    )


def test_lengths_end_where_positions_do():
    assert probe("learned", max_positions=40).lengths(1, 4, 16) == [8, 32]
    assert probe("sinusoidal").lengths(1, 4, 16) == [8, 32, 128]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            dict(name="learned", max_positions=4),
            "learned(max_positions=4) has no more than 4 positions, and the length is 8",
        ),
        (
            dict(name="binary", positions=NORMALIZED),
            "reads whole positions, but normalized gives fractions",
        ),
        (
            dict(name="rope", width=15),
            "must be a multiple of the heads and all be at least 1, got 15 and 2",
        ),
        (dict(name="rope", length=0), "all be at least 1"),
    ],
)
def test_what_cannot_be_read_is_refused(given, why):
    with pytest.raises(UserError) as refused:
        probe(**given)
    assert why in str(refused.value)


def test_a_scheme_that_follows_a_task_is_refused():
    with pytest.raises(UserError, match="follows structure"):
        probe("sinusoidal", positions={"name": "coupled", "max_position": 9}).table(8)
