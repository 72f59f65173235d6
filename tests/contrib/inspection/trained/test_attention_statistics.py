import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.inspection.trained import attention_statistics
from pe_lab.contrib.inspection.trained.loaded_model import LoadedModel
from tests.contrib.inspection.trained.untrained_run import finished

pytestmark = pytest.mark.full

L = 4
CAUSAL = jnp.tril(jnp.ones((L, L), bool))[None, None]
ALIGNED = jnp.eye(L, dtype=bool)[None]


def numbers(w, counted=(True,) * L, aligned=ALIGNED, mask=CAUSAL, learned_sinks=False):
    found = attention_statistics.means(
        attention_statistics.sums(
            jnp.asarray(w, jnp.float32)[None, None],
            mask,
            jnp.asarray([counted]),
            aligned,
            learned_sinks=learned_sinks,
        )
    )
    return {name: values[0] for name, values in dataclasses.asdict(found).items()}


def test_keys_that_are_all_alike_have_entropy_one_and_the_mass_of_chance():
    found = numbers(np.tril(np.ones((L, L))) / np.arange(1, L + 1)[:, None])
    assert found["entropy"] == pytest.approx(1)
    assert found["aligned"] == found["by_chance"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert found["distance"] == pytest.approx((0 + 1 / 2 + 3 / 3 + 6 / 4) / 4)


def test_one_key_alone_has_entropy_zero_and_its_own_distance():
    found = numbers(
        np.eye(L, k=-1) + np.diag([1.0, 0, 0, 0])
    )  # each looks one back, the first at itself
    assert found["entropy"] == pytest.approx(0, abs=1e-6)
    assert found["distance"] == pytest.approx(3 / 4)
    assert found["aligned"] == pytest.approx(1 / 4)


def test_two_of_four_keys_are_half_of_the_entropy():
    assert numbers([[1, 0, 0, 0]] * 3 + [[0.5, 0, 0, 0.5]], counted=(False, False, False, True))[
        "entropy"
    ] == pytest.approx(0.5)


def test_queries_that_do_not_count_and_names_that_are_out_of_sight_count_for_nothing():
    uniform = np.tril(np.ones((L, L))) / np.arange(1, L + 1)[:, None]
    assert numbers(uniform, counted=(False, True, False, False))["aligned"] == pytest.approx(1 / 2)
    assert numbers(uniform, aligned=jnp.eye(L, k=1, dtype=bool)[None])["aligned"] is None
    assert (
        numbers(uniform, counted=(True, False, False, False))["entropy"] is None
    )  # one key in sight: no choice


def test_rows_are_read_as_they_sum_to_one_and_empty_ones_are_left_out():
    whole = numbers(
        [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
        counted=(False, True, True, False),
    )
    part = numbers(
        [[1, 0, 0, 0], [0.1, 0.1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
        counted=(False, True, False, False),
    )
    assert whole == pytest.approx(part)


def test_what_is_missing_in_a_sum_is_the_share_of_a_learned_sink():
    """Shares 0, 0.8 and 1 of the queries that count; the other numbers read the rest."""
    w = [[1, 0, 0, 0], [0.1, 0.1, 0, 0], [0, 0, 0, 0], [0.25, 0, 0, 0]]
    counted = (True, True, True, False)
    found = numbers(w, counted, learned_sinks=True)
    assert found.pop("sink_share") == pytest.approx((0 + 0.8 + 1) / 3)
    without = numbers(w, counted)
    assert without.pop("sink_share") is None
    assert found == without


def test_a_query_that_sees_no_key_has_no_share_of_a_sink():
    first_alone = CAUSAL & (jnp.arange(L) == 0)[None, None, :, None]
    w = np.diag([0.5, 0, 0, 0])
    assert numbers(w, mask=first_alone, learned_sinks=True)["sink_share"] == 0.5


@pytest.mark.parametrize("layout", ["decoder", "encoder", "encoder_decoder"])
def test_a_model_reports_the_share_of_its_learned_sinks(layout):
    """A sink far above the logits has all of the weight, and one far below them has none."""
    run = finished("rope", layout__name=layout, model__num_layers=1, model__learned_sinks=True)
    for stack in run.params.values():
        for block in stack.get("blocks", {}).values():
            for name in {"attention", "cross"} & set(block):
                block[name]["sinks"] = jnp.asarray([100.0, -100.0])
    attention = LoadedModel(run, [3]).observe(3).attention
    assert (
        set(attention)
        == {
            "decoder": {"decoder"},
            "encoder": {"encoder"},
            "encoder_decoder": {"encoder", "decoder", "cross"},
        }[layout]
    )
    for (layer,) in attention.values():
        assert layer.sink_share == pytest.approx([1, 0], abs=1e-6)


@pytest.mark.parametrize(
    ("layout", "name", "back"),
    [("decoder", "decoder", 5), ("encoder", "encoder", 5), ("encoder_decoder", "cross", 0)],
)
def test_a_bias_towards_the_string_has_all_its_mass_on_the_token_that_the_task_names(
    layout, name, back
):
    """Of a copy, as far back as the string is long; in cross-attention, at the same place."""
    own = {"name": "tests.contrib.inspection.user_encodings:LooksBack", "back": back} | (
        {"stacks": ("cross",)} if name == "cross" else {}
    )
    run = finished(own, layout__name=layout, model__num_layers=1, evaluate__lengths=(3, 5))
    (found,) = LoadedModel(run, [5]).observe(5).attention[name]
    assert found.aligned == pytest.approx([1, 1], abs=1e-5)
    assert max(found.by_chance) < 0.25
    if name != "cross":
        assert found.distance == pytest.approx([back, back], abs=1e-4)
        assert found.entropy == pytest.approx([0, 0], abs=1e-4)
