import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.inspection.trained import knock_outs
from pe_lab.contrib.inspection.trained.examples import BatchSize, draw
from pe_lab.contrib.inspection.trained.loaded_model import LoadedModel
from pe_lab.runs.errors import UserError
from pe_lab.training.build import build_setup
from pe_lab.training.trained_runs import load
from tests import record_values, tiny
from tests.contrib.inspection.trained.untrained_run import finished

pytestmark = pytest.mark.full

LENGTHS = (2, 3, 5)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run that has solved short strings and not the longest."""
    folder = tmp_path_factory.mktemp("study")
    group = tiny.group(
        "rope", seeds=1, train__steps=150, train__learning_rate=1e-2, evaluate__num_examples=40
    )
    tiny.train(folder, group)
    return load(folder, group.run.run_id)


@pytest.fixture(scope="module")
def bench(trained):
    return LoadedModel(trained, LENGTHS)


def test_with_nothing_off_scores_are_the_rows_of_its_record(trained, bench):
    assert bench.num_examples == 40
    found = {
        n: dataclasses.asdict(bench.score(n, knock_outs.nothing_off(bench.setup))) for n in LENGTHS
    }
    assert found == {
        n: {
            m: pytest.approx(record_values.value(trained.record, "test", n, 0, m))
            for m in ("exact_match", "token_accuracy")
        }
        for n in LENGTHS
    }
    assert 0 < found[2]["exact_match"] != found[5]["exact_match"]  # or nothing would be compared


def test_with_all_off_it_scores_as_a_model_without_encodings_and_its_parameters(trained, bench):
    bare = LoadedModel(finished("nope", params=trained.params, evaluate__num_examples=40), LENGTHS)
    off = jax.tree.map(
        np.logical_not, knock_outs.nothing_off(bench.setup)
    )  # at the input it has none
    assert (
        bench.score(3, off)
        == bare.score(3, knock_outs.nothing_off(bare.setup))
        != bench.score(3, knock_outs.nothing_off(bench.setup))
    )


def test_answers_are_right_where_teacher_forcing_scores_them_as_right(bench):
    for n in LENGTHS:
        answers = bench.answers(n)
        assert all(len(a.right) == n + 1 and a.right[-1] == bench.end_token for a in answers)
        assert all(len(a.tokens) <= n + 1 for a in answers)
        assert all(bench.end_token not in a.tokens[:-1] for a in answers)
        share = np.mean([a.tokens == a.right for a in answers])
        assert share == pytest.approx(
            bench.score(n, knock_outs.nothing_off(bench.setup)).exact_match
        )


def test_the_first_parameters_are_those_that_training_started_from(trained, bench):
    started = finished(
        "rope", train__steps=150, train__learning_rate=1e-2, evaluate__num_examples=40
    )
    jax.tree.map(np.testing.assert_array_equal, bench.initial(), started.params)
    models_differ = jax.tree.map(lambda a, b: bool((a != b).any()), bench.initial(), trained.params)
    assert all(jax.tree.leaves(models_differ))


def test_every_example_is_seen_once_and_one_at_a_time_is_the_same(trained, bench, monkeypatch):
    whole = bench.observe(3)
    assert {
        len(leaf)
        for leaf in (*whole.q["decoder"], *whole.hidden["decoder"], whole.valid["decoder"])
    } == {40}
    monkeypatch.setattr(
        "pe_lab.contrib.inspection.trained.loaded_model._BATCH_SIZE", 16
    )  # the last batch is not full
    parts = LoadedModel(trained, LENGTHS).observe(3)
    np.testing.assert_allclose(parts.hidden["decoder"][-1], whole.hidden["decoder"][-1], atol=1e-5)
    for a, b in zip(parts.attention["decoder"], whole.attention["decoder"], strict=True):
        assert a.entropy == pytest.approx(b.entropy, abs=1e-5)


@pytest.mark.parametrize(
    ("layout", "row"), [("decoder", 4), ("encoder", 3), ("encoder_decoder", 0)]
)
def test_the_task_names_the_token_of_the_prompt_that_each_label_is(layout, row):
    made = build_setup(
        tiny.run("rope", layout__name=layout, task={"name": "reverse", "num_symbols": 6})
    )
    found = draw(made, BatchSize(5, 3), jnp.int32(3), jnp.int32(0), None)
    first = 1 if layout == "decoder" else 0  # BEGIN stands before the prompt
    pairs = [(row + t, first + 2 - t) for t in range(3)]
    for example in np.asarray(found.aligned):
        assert np.argwhere(example).tolist() == [list(pair) for pair in pairs]
    tokens = found.streams["decoder" if layout == "decoder" else "encoder"].tokens
    for query, key in pairs:
        np.testing.assert_array_equal(found.batch.labels[:, query], tokens[:, key])


@pytest.mark.parametrize(
    ("encoding", "length", "says"),
    [
        (
            "rope",
            7,
            (
                "copy with these arguments has no examples of length 7: the run [0-9a-f]* "
                "cannot be "
                "inspected there"
            ),
        ),
        (
            {"name": "learned", "max_positions": 9},
            5,
            "learned has positions 0..8; length 5 asks for position 11: the run",
        ),
    ],
)
def test_a_length_that_cannot_be_looked_at_is_one_sentence(encoding, length, says):
    with pytest.raises(UserError, match=f"^{says}"):
        LoadedModel(finished(encoding, evaluate__lengths=(2, 3)), [2, length])


@pytest.mark.parametrize("layout", ["encoder", "encoder_decoder"])
def test_other_layouts_answer_too(layout, tmp_path):
    group = tiny.group(
        "rope",
        seeds=1,
        layout__name=layout,
        train__steps=80,
        train__learning_rate=1e-2,
        evaluate__num_examples=40,
    )
    tiny.train(tmp_path, group)
    bench = LoadedModel(load(tmp_path, group.run.run_id), [2, 3])
    assert bench.one_pass == (layout == "encoder")
    answers = bench.answers(2)
    assert [len(a.right) for a in answers] == [3] * 40
    found = bench.score(2, knock_outs.nothing_off(bench.setup)).exact_match
    assert np.mean([a.tokens == a.right for a in answers]) == pytest.approx(found)
    assert 0 < found < 1  # or nothing would be compared
    seen = bench.observe(2)
    assert set(seen.hidden) == ({"encoder"} if layout == "encoder" else {"encoder", "decoder"})
    names = ["encoder"] if layout == "encoder" else ["encoder", "decoder", "cross"]
    assert list(seen.attention) == list(seen.mask) == names
    asks = seen.mask[names[-1]][0].any(axis=(1, 3))
    np.testing.assert_array_equal(
        asks, seen.valid[list(seen.hidden)[-1]]
    )  # all tokens of the answering stream and no padding
    assert not asks.all()
