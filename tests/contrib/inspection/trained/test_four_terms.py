import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.inspection.trained import four_terms
from tests import reference
from tests.contrib.inspection import tables

RNG = np.random.default_rng(0)
N, L = 64, 6
CAUSAL = np.tril(np.ones((L, L), bool))[None, None].repeat(N, axis=0)
ALL = np.ones_like(CAUSAL)
VALID = np.ones((N, L), bool)


def draw(*shape):
    return RNG.standard_normal(shape)


def parts(channels=slice(None)):
    """Random content of every token and place of every slot, [N, L, 1, 4] each, in some channels
    alone.
    """
    keep = np.zeros(4)
    keep[channels] = 1
    return draw(N, L, 1, 4) * keep, np.broadcast_to(draw(L, 1, 4) * keep, (N, L, 1, 4))


def test_orthogonal_tokens_and_codes_have_no_cross_terms():
    q, k = ((parts(slice(2))[0], parts(slice(2, 4))[1]) for _ in range(2))
    found = four_terms.shares(q, k, CAUSAL)
    cc, cp, pc, pp = found.shares[:, 0]
    assert (cp, pc) == (0, 0)
    assert cc + pp == pytest.approx(1)
    assert min(cc, pp) > 0.1
    assert found.together[0] == pytest.approx(
        1, abs=0.1
    )  # cc and pp are independent, and there are 64 examples


def test_shares_by_hand():
    """One query, two keys; half of each difference is left after centring, and squares add up."""
    q = np.array([[[[2.0]]]]), np.array([[[[1.0]]]])
    k = np.array([[[[1.0]], [[4.0]]]]), np.array([[[[0.0]], [[1.0]]]])
    found = four_terms.shares(q, k, np.ones((1, 1, 1, 2), bool))
    assert found.shares[:, 0] == pytest.approx(np.array([6**2, 2**2, 3**2, 1**2]) / 50)
    assert found.together[0] == pytest.approx((6 + 2 + 3 + 1) ** 2 / 50)


def test_what_all_keys_have_in_common_counts_for_nothing():
    q, k = parts(), parts()
    same = four_terms.shares(q, (k[0], k[1] + draw(1, 1, 1, 4)), CAUSAL)
    np.testing.assert_allclose(same.shares, four_terms.shares(q, k, CAUSAL).shares)


def test_keys_out_of_sight_count_for_nothing():
    (qc, qp), (kc, kp) = parts(), parts()
    mask = CAUSAL & (np.arange(L) < 4)
    behind = np.where(np.arange(L)[:, None, None] < 4, kc, 1e9)
    np.testing.assert_allclose(
        four_terms.shares((qc, qp), (behind, kp), mask).shares,
        four_terms.shares((qc, qp), (kc, kp), mask).shares,
    )


def test_every_head_is_its_own():
    q, k = (
        tuple(np.concatenate(pair, axis=2) for pair in zip(parts(), parts(), strict=True))
        for _ in range(2)
    )
    both = four_terms.shares(q, k, CAUSAL)
    alone = four_terms.shares(tuple(x[:, :, 1:] for x in q), tuple(x[:, :, 1:] for x in k), CAUSAL)
    np.testing.assert_allclose(both.shares[:, 1], alone.shares[:, 0])
    assert np.abs(both.shares[:, 0] - both.shares[:, 1]).max() > 0.01


def test_nearness_is_one_where_place_by_place_is_minus_the_distance():
    zero, place = np.zeros((N, L, 1, 2)), np.arange(L, dtype=float)
    q = np.broadcast_to(np.stack([np.ones(L), -place], axis=1)[None, :, None], zero.shape)
    k = np.broadcast_to(np.stack([place, np.ones(L)], axis=1)[None, :, None], zero.shape)
    found = four_terms.shares(
        (zero, q), (zero, k), CAUSAL
    )  # key - query, which is minus the distance where keys come before
    assert found.nearness[0] == pytest.approx(1)
    assert found.shares[:, 0] == pytest.approx([0, 0, 0, 1])
    assert four_terms.shares((zero, q), (zero, -k), CAUSAL).nearness[0] == pytest.approx(-1)
    assert np.isnan(four_terms.shares((zero, q), (zero, k), CAUSAL, one_stream=False).nearness[0])


def test_logits_that_do_not_differ_have_no_shares():
    zero = np.zeros((N, L, 1, 2))
    found = four_terms.shares((zero, zero), (zero, zero), CAUSAL)
    assert np.isnan(found.shares).all()
    assert np.isnan(found.together).all()


def test_the_mean_over_examples_is_the_place_and_the_rest_the_content():
    content, place = parts()
    content = content - content.mean(axis=0)
    found = four_terms.split_by_position(content + place, VALID)
    np.testing.assert_allclose(found[0], content, atol=1e-12)
    np.testing.assert_allclose(found[1], place, atol=1e-12)


def test_the_mean_of_a_model_in_bfloat16_is_not_rounded():
    x = (8 + parts()[0]).astype(jnp.bfloat16)
    content, place = four_terms.split_by_position(x, VALID)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(place, np.broadcast_to(exact.mean(axis=0), x.shape), atol=1e-12)
    np.testing.assert_allclose(content + place, exact, atol=1e-12)


def test_padding_is_of_no_place():
    content, place = parts()
    valid = VALID.copy()
    valid[1::2, 3:] = False
    x = np.where(valid[..., None, None], content + place, 1e9)
    found = four_terms.split_by_position(x, valid)
    np.testing.assert_allclose(found[1][0, 3:], x[::2, 3:].mean(axis=0))
    assert not found[0][1::2, 3:].any()
    np.testing.assert_allclose((found[0] + found[1])[valid], x[valid])


def test_the_four_terms_of_random_weights_are_the_reference():
    """Twelve random tokens with sinusoidal codes, every query seeing every key."""
    drawn, known = tables.drawn(), reference.entry("diag_four_terms_random_init")
    codes = tables.sinusoidal(np.arange(12), 32)
    q, k = (
        tuple((x @ W)[None, :, None] for x in (drawn.tokens, codes))
        for W in (drawn.queries, drawn.keys)
    )
    found = four_terms.shares(q, k, np.ones((1, 1, 12, 12), bool)).shares[:, 0]
    assert dict(zip(four_terms.TERMS, found, strict=True)) == pytest.approx(
        known["value"], abs=known["tol"]
    )
