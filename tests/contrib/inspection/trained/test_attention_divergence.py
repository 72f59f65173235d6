import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.inspection.cli import inspect
from pe_lab.contrib.inspection.trained.attention_divergence import compare, divergence
from pe_lab.contrib.inspection.trained.loaded_model import LoadedModel
from pe_lab.runs.errors import UserError
from tests import tiny
from tests.contrib.inspection.trained.untrained_run import finished


def of_rows(p, q):
    return float(divergence(jnp.asarray([[[p]]]), jnp.asarray([[[q]]]))[0, 0, 0, 0])


def test_divergences_worked_by_hand():
    """Equal rows have 0 bits and rows without a common key 1; zeros are no hindrance."""
    assert of_rows([0.25, 0.75, 0.0], [0.25, 0.75, 0.0]) == 0
    assert of_rows([1.0, 0.0], [0.0, 1.0]) == 1
    # The mean is (3/4, 1/4): (log2(4/3) + (log2(2/3) + log2(2)) / 2) / 2.
    expected = (np.log2(4 / 3) + (np.log2(2 / 3) + 1) / 2) / 2
    assert of_rows([1.0, 0.0], [0.5, 0.5]) == pytest.approx(expected, abs=1e-6)


def test_every_head_of_one_meets_every_head_of_the_other():
    p = jnp.asarray([[[[1.0, 0.0]], [[0.0, 1.0]]]])  # two heads, one query
    q = jnp.asarray([[[[1.0, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]]]])
    assert divergence(p, q)[0, :, :, 0].tolist() == [[0, 0, 1], [1, 1, 0]]


@pytest.fixture(scope="module")
def models():
    changes = dict(model__num_layers=1, evaluate__num_examples=10)
    runs = (finished(name, **changes) for name in ("rope", "alibi"))
    return tuple(LoadedModel(run, (3,)) for run in runs)


def test_runs_are_compared_by_layer_and_pair_of_heads(models):
    rope, alibi = models
    (same,) = compare(rope, rope, 3)["decoder"]
    (found,) = compare(rope, alibi, 3)["decoder"]
    (swapped,) = compare(alibi, rope, 3)["decoder"]
    np.testing.assert_allclose(np.diagonal(same), 0, atol=1e-6)
    assert found.shape == (2, 2)
    assert (found > 1e-4).all()
    assert (found < 1).all()
    np.testing.assert_allclose(found, swapped.T, atol=1e-6)


def test_a_learned_sink_is_a_key_that_a_run_without_sinks_does_not_attend_to(models):
    """A sink with all of the weight has no key in common with tokens; one with none adds no bit."""
    rope, _ = models
    changes = dict(model__num_layers=1, evaluate__num_examples=10, model__learned_sinks=True)
    run = finished("rope", **changes)
    run.params["decoder"]["blocks"][0]["attention"]["sinks"] = jnp.asarray([100.0, -100.0])
    with_sinks = LoadedModel(run, (3,))
    (found,) = compare(with_sinks, rope, 3)["decoder"]
    (same,) = compare(rope, rope, 3)["decoder"]
    np.testing.assert_allclose(found, [[1, 1], same[1]], atol=1e-5)
    (among_sinks,) = compare(with_sinks, with_sinks, 3)["decoder"]
    np.testing.assert_allclose(among_sinks, [[0, 1], [1, 0]], atol=1e-5)


def test_runs_of_another_form_are_refused(models):
    other = LoadedModel(finished("rope", task__num_symbols=7, model__num_layers=1), (3,))
    with pytest.raises(UserError, match=r"cannot be compared: they have different tasks"):
        compare(models[0], other, 3)


def test_runs_with_other_held_out_prompts_are_refused():
    """Nine symbols are enough for inputs that are held out."""
    models = []
    for exclude in (True, False):
        changes = dict(train__exclude_held_out=exclude, task__num_symbols=9)
        models.append(LoadedModel(finished("rope", **changes), (3,)))
    with pytest.raises(UserError, match=r"cannot be compared: config.train.exclude_held_out dif"):
        compare(*models, 3)


def test_the_command_prints_a_row_for_each_layer_and_head(tmp_path, capsys):
    group = tiny.group("rope", train__steps=2, model__num_layers=1, evaluate__num_examples=8)
    tiny.train(tmp_path, group)
    one, other = (run.run_id for run in group.runs)
    inspect.run(inspect.Options((str(tmp_path),), run=one, other_run=other, lengths=(2,)))
    lines = capsys.readouterr().out.splitlines()
    assert "Jensen-Shannon divergence in bits at length 2:" in lines
    assert lines[-4] == "| attention | layer | head | head 1 of the other | head 2 of the other |"
    assert [line[:19] for line in lines[-2:]] == ["| decoder | 1 | 1 |", "| decoder | 1 | 2 |"]


def test_another_run_alone_is_refused():
    with pytest.raises(UserError, match=r"^--other-run needs --run"):
        inspect.run(inspect.Options(("quickstart",), other_run="0123456789abcdef"))
