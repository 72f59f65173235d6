import dataclasses
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.model.streams import Stream
from pe_lab.runs import override_specs
from pe_lab.runs.errors import UserError
from pe_lab.runs.evaluation_points import EvaluationPoint, example_counts, grid, is_done
from pe_lab.training import evaluation_data
from pe_lab.training.batches import add_positions, draw_examples
from pe_lab.training.build import build_setup
from pe_lab.training.checks import out_of_reach
from pe_lab.training.chunk import train_chunk
from pe_lab.training.evaluate import Evaluator
from pe_lab.training.random_keys import (
    EVALUATED_POSITIONS,
    EVALUATION,
    SOURCE_POSITIONS,
    fold,
    stream_key,
)
from pe_lab.training.state import initial_state
from pe_lab.training.warm_start import overridden
from tests import tiny
from tests.tiny import members


def compiled(f, *args, donate=()):
    return jax.jit(f)


@functools.cache
def trained(*encodings, steps=60, **changes):
    """The setup of a run, and two members trained so far that some answers are right and some are
    not.
    """
    # The logits depend on the offset of all positions.
    encodings = encodings or ("sinusoidal", "rope")
    run = tiny.run(*encodings, execution__chunk_steps=80, train__steps=80, **changes)
    made, which = (
        build_setup(run),
        members({"learning_rate": 1e-2}, {"learning_rate": 1e-2, "seed": 1}),
    )
    state = jax.jit(functools.partial(initial_state, made))(which)
    state, _ = jax.jit(functools.partial(train_chunk, made))(state, which, jnp.asarray(steps))
    return made, state.params


def evaluator(made, *lengths):
    return Evaluator(made, lengths or made.run.evaluate.lengths, compiled)


def rows_of(made, params):
    return evaluator(made).rows(params, grid(made.run))


def logits_of(made, params, r, split, length, count, offset=0):
    """The examples and the logits that evaluation is about, recomputed one example at a time."""
    out = []
    model = jax.jit(made.model(jax.tree.map(lambda p: p[r], params)).__call__)
    examples = jax.jit(lambda keys, lengths: draw_examples(made, keys, lengths, length))
    for i in range(count):
        key = jax.random.key(0)
        for name in (EVALUATION, split, length, i):
            key = jax.random.fold_in(key, name)
        batch = examples(key[None], jnp.asarray([length]))
        key = jax.random.fold_in(key, EVALUATED_POSITIONS)
        positions = made.scheme(key[None], batch.mask, train=False) + offset
        name = "encoder" if made.run.layout.name == "encoder" else "decoder"
        streams = {name: Stream(batch.tokens, (positions,), batch.mask)}
        if batch.source_tokens is not None:
            key = jax.random.fold_in(key, SOURCE_POSITIONS)
            positions = made.scheme(key[None], batch.source_mask, train=False) + offset
            streams["encoder"] = Stream(batch.source_tokens, (positions,), batch.source_mask)
        logits = model(streams)
        out.append((jax.tree.map(lambda x: np.asarray(x[0]), batch), np.asarray(logits)[0]))
    return out


@pytest.mark.parametrize("offset", [0, 3])
def test_metrics_by_hand(offset):
    made, params = trained()
    sums = evaluator(made).measure(params, EvaluationPoint("test", 3, offset), 12)
    for r in range(2):
        exact = exact_without = right = 0
        nll, first = 0.0, [0] * 4
        for batch, logits in logits_of(made, params, r, 1, 3, 12, offset):
            said = logits.argmax(-1)[batch.target] == batch.labels[batch.target]
            exact += said.all()
            exact_without += said[:-1].all()
            right += said[:-1].sum()
            if not said.all():
                first[said.argmin()] += 1
            log_probability = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
            nll -= np.take_along_axis(log_probability, batch.labels[:, None], 1)[batch.target].sum()
        got = sums[r].sums.metrics
        assert got["exact_match"] == (exact, 12)
        assert got["exact_match_without_end"] == (exact_without, 12)
        assert got["token_accuracy"] == (right, 36)
        assert got["first_error"].total[:4].tolist() == first
        assert got["negative_log_likelihood"] == (pytest.approx(nll, rel=1e-4), 48)
        assert sums[r].sums.not_finite == 0
        assert 0 < right < 36  # neither all nor none: the comparison says something


@pytest.mark.full
@pytest.mark.parametrize("layout", ["encoder", "encoder_decoder"])
def test_metrics_of_other_layouts_by_hand(layout):
    """Of a fresh model, with positions of each example's and each stream's own."""
    scheme = dict(name="randomized", maximum=32)
    made = build_setup(
        tiny.run("rope", "sinusoidal", layout__name=layout, positions=scheme, model__num_layers=1)
    )
    params = initial_state(made, members({"seed": 2})).params
    right = first = 0
    nll = 0.0
    for batch, logits in logits_of(made, params, 0, 1, 3, 8, 1):
        said = logits.argmax(-1)[batch.target] == batch.labels[batch.target]
        right += said[:-1].sum()
        first += not said[0]
        log_probability = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        nll -= np.take_along_axis(log_probability, batch.labels[:, None], 1)[batch.target].sum()
    (measured,) = evaluator(made).measure(params, EvaluationPoint("test", 3, 1), 8)
    got = measured.sums.metrics
    assert got["token_accuracy"] == (right, 24)
    assert got["first_error"].total[0] == first
    assert got["negative_log_likelihood"] == (pytest.approx(nll, rel=1e-4), 32)
    assert measured.scale_ratio.shape == (len(made.abstract_model.stacks),)


@pytest.mark.slow
def test_scale_ratios_count_no_padding():
    """Raw indices 0..n - 1 of n tokens: the rms is that of the indices, whatever the shape."""
    ratios = []
    for longest in (3, 6):
        made = build_setup(tiny.run("raw_index", evaluate__lengths=(3, longest)))
        params = initial_state(made, members({})).params
        (measured,) = evaluator(made).measure(params, EvaluationPoint("test", 3, 0), 8)
        ratios.append(measured.scale_ratio)
    np.testing.assert_allclose(ratios[0], ratios[1], rtol=1e-6)


@pytest.mark.slow
def test_teacher_forced_exact_match_is_greedy_decoding():
    """Every token generated from the model's own output, one forward pass each."""
    made, params = trained()
    words = made.task.vocabulary
    model = jax.jit(made.model(jax.tree.map(lambda p: p[0], params)).__call__)
    greedy = []
    for batch, _ in logits_of(made, params, 0, 1, 3, 12):
        tokens, target = batch.tokens.copy(), np.flatnonzero(batch.target)
        tokens[target[1:]] = words.pad
        for place in target:
            seen = jnp.asarray(np.arange(len(tokens)) <= place)[None]
            positions = made.scheme(jax.random.split(jax.random.key(0), 1), seen, train=False)
            stream = Stream(jnp.asarray(tokens)[None], (positions,), seen)
            said = int(model({"decoder": stream})[0, place].argmax())
            if place + 1 < len(tokens):
                tokens[place + 1] = said
            else:
                last = said
        greedy.append([*tokens[target[1:]].tolist(), last] == batch.labels[target].tolist())
    measured = evaluator(made).measure(params, EvaluationPoint("test", 3, 0), 12)[0]
    assert measured.sums.metrics["exact_match"] == (sum(greedy), 12)
    assert 0 < sum(greedy) < 12


@pytest.mark.full
def test_padding_and_batches_change_no_number():
    """Length 3 in the shapes of length 5 and of length 6, in batches of 8."""
    made, params = trained()
    measure = evaluator(made)
    short = measure.measure(params, EvaluationPoint("test", 3, 0), 16)
    measure.bound, measure.programs = 6, {}
    padded = measure.measure(params, EvaluationPoint("test", 3, 0), 16)
    for name in ("exact_match", "exact_match_without_end", "token_accuracy"):
        of_padded = [member.sums.metrics[name] for member in padded]
        assert [member.sums.metrics[name] for member in short] == of_padded


@pytest.mark.full
def test_splits_and_lengths_have_examples_of_their_own():
    made, _ = trained()
    prompts = [
        draw_examples(made, fold(key(split), jnp.arange(4)), jnp.full(4, 3), 3).tokens.tolist()
        for split in (0, 1)
    ]
    assert prompts[0] != prompts[1]


def key(split):
    return stream_key(stream_key(jax.random.key(0), EVALUATION), split)


@pytest.mark.full
def test_a_length_beyond_the_table_is_null_with_its_reason():
    rows = rows_of(*beyond_table())[0]
    null = [r for r in rows if r["value"] is None]
    assert [(r["length"], r["offset"], r["count"]) for r in null] == [(5, 0, 0)]
    assert null[0]["reason"] == "learned has positions 0..7; length 5 asks for position 11"


def beyond_table():
    made = build_setup(tiny.run({"name": "learned", "max_positions": 8}))
    return made, tiny.params_of(made)


@pytest.mark.full
def test_rows_are_the_grid_and_validation_is_in_distribution():
    rows = rows_of(*trained(steps=1))[1]
    exact = [(r["split"], r["length"], r["offset"]) for r in rows if r["metric"] == "exact_match"]
    assert exact == [
        ("validation", 2, 0),
        ("validation", 3, 0),
        ("test", 2, 0),
        ("test", 3, 0),
        ("test", 5, 0),
    ]
    assert {r["count"] for r in rows} == {16}
    assert [r["metric"] for r in rows[:6]] == [
        "exact_match",
        "exact_match_without_end",
        "first_error",
        "negative_log_likelihood",
        "token_accuracy",
        "overlap",
    ]


@pytest.mark.slow
def test_logits_that_are_not_finite_are_wrong_and_say_so():
    made, params = beyond_table()
    rows = rows_of(made, jax.tree.map(lambda p: p * jnp.nan, params))[0]
    test = {r["metric"]: r for r in rows if r["split"] == "test" and r["length"] == 2}
    assert (test["exact_match"]["value"], test["token_accuracy"]["value"]) == (0, 0)
    assert test["first_error"]["value"] == [16, 0, 0]
    assert test["negative_log_likelihood"]["value"] is None
    assert (
        test["negative_log_likelihood"]["reason"]
        == "the logits of 16 of 16 examples are not finite"
    )


@pytest.mark.slow
def test_all_lengths_and_offsets_share_one_program():
    made, params = trained(steps=1)
    programs = []

    def compiled(function, *args):
        programs.append(function)
        return jax.jit(function)

    measure = Evaluator(made, made.run.evaluate.lengths, compiled)
    for length in made.run.evaluate.lengths:
        for offset in (0, 3):
            measure.measure(params, EvaluationPoint("test", length, offset), 8)
    assert len(programs) == 1


def two_encodings():
    """A table at the input, and two encodings in attention, the second with parameters."""
    return trained("learned", "rope", "t5_bias", model__num_layers=1)


def numbers(measured):
    """What does not depend on how it was computed."""
    exact = ("exact_match", "exact_match_without_end", "token_accuracy")
    of_members = []
    for member in measured:
        sums = member.sums.metrics
        losses, targets = sums["negative_log_likelihood"]
        of_members.append(
            {name: (int(sums[name].total), int(sums[name].weight)) for name in exact}
            | {"not_finite": int(member.sums.not_finite), "targets": int(targets)}
            | {"losses": pytest.approx(float(losses), rel=1e-5)}
        )
    return of_members


def measured(made, params, spec=None):
    override = None if spec is None else override_specs.override(spec, made.run)
    return numbers(evaluator(made).measure(params, EvaluationPoint("test", 3, 0, override), 16))


@pytest.mark.full
def test_a_change_that_changes_nothing_gives_equal_numbers():
    made, params = two_encodings()
    own = made.run.to_dict()
    for spec in (dict(positions=own["positions"]), dict(encodings=own["model"]["encodings"])):
        assert measured(made, params, spec) == measured(made, params)


@pytest.mark.slow
def test_loops_and_temperature_at_evaluation_are_those_of_a_model_with_them():
    made, params = trained("rope")
    for spec in (dict(num_loops=2), dict(logit_temperature="log_n")):
        changes = {f"model__{name}": value for name, value in spec.items()}
        with_them = build_setup(tiny.run("rope", **changes))
        assert measured(made, params, spec) == measured(with_them, params)
        assert measured(made, params, spec) != measured(made, params)


@pytest.mark.full
def test_another_scheme_at_evaluation_gives_its_own_numbers():
    """Shifted by up to 0 is no shift; randomized positions are another thing."""
    made, params = two_encodings()
    assert measured(made, params, dict(positions=dict(name="shifted", max_shift=0))) == measured(
        made, params
    )
    randomized = dict(positions=dict(name="randomized", maximum=16))
    as_trained, other = measured(made, params), measured(made, params, randomized)
    assert other != as_trained
    run = dataclasses.replace(
        made.run, positions=override_specs.override(randomized, made.run).positions
    )
    assert other == measured(build_setup(run), params)


@pytest.mark.full
def test_without_an_encoding_it_is_the_model_without_it_with_the_other_parameters():
    made, params = two_encodings()
    less = measured(made, params, dict(encodings=[dict(name="rope"), dict(name="t5_bias")]))
    stack = {name: part for name, part in params["decoder"].items() if name != "input_encodings"}
    without = build_setup(tiny.run("rope", "t5_bias", model__num_layers=1))
    assert less == measured(without, {**params, "decoder": stack})
    assert less != measured(made, params)


@pytest.mark.full
def test_rows_say_with_what_change_they_were_measured():
    spec = dict(
        positions=dict(name="randomized", maximum=8), encodings=[dict(name="rope")], label="other"
    )
    run = tiny.run("rope", evaluate__overrides=[spec], evaluate__lengths=(2, 3, 5))
    rows = rows_of(build_setup(run), trained(steps=1)[1])[0]
    exact = [
        (r["split"], r["length"], r["override"] and r["override"]["label"])
        for r in rows
        if r["metric"] == "exact_match"
    ]
    plain = [
        ("validation", 2, None),
        ("validation", 3, None),
        ("test", 2, None),
        ("test", 3, None),
        ("test", 5, None),
    ]
    assert exact == [*plain, ("test", 2, "other"), ("test", 3, "other"), ("test", 5, "other")]
    (override,) = {
        json.dumps(r["override"], sort_keys=True): r["override"] for r in rows if r["override"]
    }.values()
    assert override == {**run.evaluate.overrides[0].to_dict(), "reveals_target_length": True}
    assert override["positions"] == {
        "name": "randomized",
        "maximum": 8,
        "per": "batch",
        "per_layer": False,
    }
    beyond = [(r["value"], r["reason"]) for r in rows if r["override"] and r["length"] == 5]
    assert beyond == [(None, "randomized has 8 positions; length 5 asks for 12")]


def test_places_given_twice_are_measured_once():
    run = tiny.run("rope", evaluate__lengths=(3, 3), evaluate__offsets=(0, 4, 0))
    assert [(p.split, p.length, p.offset) for p in grid(run)] == [
        ("validation", 3, 0),
        ("test", 3, 0),
        ("test", 3, 4),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            dict(encodings=[dict(name="rope"), dict(name="learned")]),
            r"^learned has parameters that the run \w+ was not trained with\.$",
        ),
        (
            dict(positions=dict(name="normalized"), encodings=[dict(name="binary")]),
            "binary needs whole positions",
        ),
        (dict(encodings=[dict(name="rope", fraction=0.1)]), "RoPE"),
        (
            dict(logit_temperature="ssmax"),
            (
                r"^An evaluation override cannot change logit_temperature from 'none' to 'ssmax', "
                r"because"
            ),
        ),
    ],
)
def test_a_change_that_the_model_cannot_take_is_refused(spec, sentence):
    made = build_setup(tiny.run("rope"))
    with pytest.raises(UserError, match=sentence):
        overridden(made, override_specs.override(spec, made.run))


@pytest.mark.slow
def test_a_change_may_go_where_training_would_be_refused():
    """A table that ends within the training length is of no use in training; here it gives rows of
    null.
    """
    made = build_setup(tiny.run({"name": "learned", "max_positions": 8}))
    spread = overridden(
        made, override_specs.override(dict(positions=dict(name="randomized", maximum=13)), made.run)
    )
    assert out_of_reach(spread, 3, 0) == "learned has positions 0..7; length 3 asks for position 12"


@pytest.mark.full
def test_a_scratchpads_answer_is_scored_alone_as_well():
    """Parity of 3 bits by its prefixes: four tokens and the end. A model that is wrong about the
    first alone has the answer right.
    """
    task = {"name": "parity", "answer": "scratchpad"}
    made, which = (
        build_setup(
            tiny.run(
                "sinusoidal",
                task=task,
                model__num_layers=1,
                execution__chunk_steps=80,
                train__steps=80,
            )
        ),
        members({"learning_rate": 1e-2}),
    )
    state = jax.jit(functools.partial(initial_state, made))(which)
    state, _ = jax.jit(functools.partial(train_chunk, made))(state, which, jnp.asarray(60))
    params = state.params
    (measured,) = evaluator(made).measure(params, EvaluationPoint("test", 3, 0), 12)
    answers = wholes = 0
    for batch, logits in logits_of(made, params, 0, 1, 3, 12):
        right = logits.argmax(-1) == batch.labels
        answers += right[batch.answer].all()
        wholes += right[batch.target][:-1].all()
        assert 0 < batch.answer.sum() < batch.target.sum() - 1
    assert measured.sums.metrics["answer_exact_match"] == (answers, 12)
    assert measured.sums.metrics["exact_match_without_end"] == (wholes, 12)
    assert answers > wholes
    plain = build_setup(tiny.run("sinusoidal", model__num_layers=1))
    (rows,) = evaluator(plain).rows(tiny.params_of(plain), [EvaluationPoint("test", 3, 0)])
    assert "answer_exact_match" not in {r["metric"] for r in rows}


@pytest.mark.full
def test_a_text_has_the_likelihood_of_every_place(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the quick brown fox jumps over the lazy dog\n" * 20, encoding="utf-8")
    task = {"name": "language_model", "path": str(text), "data_dir": str(tmp_path / "data")}
    made = build_setup(
        tiny.run("sinusoidal", task=task, layout__end_token=False, model__num_layers=1)
    )
    params, data = tiny.params_of(made), made.data("test")
    (rows,) = evaluator(made).rows(params, [EvaluationPoint("test", 3, 0)])
    found = {r["metric"]: r["value"] for r in rows}
    keys = evaluation_data.keys(1, 3, jnp.arange(16))
    batch, streams = add_positions(
        made, draw_examples(made, keys, jnp.full(16, 3), 3, data), keys, train=False
    )
    logits = np.asarray(made.model(jax.tree.map(lambda p: p[0], params))(streams))
    losses = (
        np.log(np.exp(logits).sum(-1))
        - np.take_along_axis(logits, np.asarray(batch.labels)[..., None], -1)[..., 0]
    )
    by_place = losses[np.asarray(batch.target)].reshape(16, 3).mean(axis=0)
    assert found["negative_log_likelihood_by_place"] == pytest.approx(by_place.tolist(), rel=1e-5)
    assert found["negative_log_likelihood"] == pytest.approx(by_place.mean(), rel=1e-5)


@pytest.mark.slow
def test_validation_has_lengths_of_its_own():
    run = tiny.run("rope", evaluate__validation_lengths=(1, 3), evaluate__lengths=(2, 5))
    places = [("validation", 1), ("validation", 3), ("test", 2), ("test", 5)]
    assert [(place.split, place.length) for place in grid(run)] == places
    assert list(next(iter(example_counts([run]).values()))) == places
    rows = rows_of(build_setup(run), trained(steps=1)[1])[0]
    assert [(r["split"], r["length"]) for r in rows if r["metric"] == "overlap"] == places


def test_a_run_is_done_when_every_validation_length_is_measured():
    run = tiny.run("rope", evaluate__validation_lengths=(1, 3), evaluate__lengths=(2,))
    rows = [place.row("exact_match", 1.0, run.evaluate.num_examples) for place in grid(run)]
    record = {"status": "finished", "config": run.to_dict(), "rows": rows}
    assert is_done(run, record)
    assert not is_done(run, {**record, "rows": rows[1:]})


@pytest.mark.slow
def test_validation_lengths_that_a_task_lacks_are_refused():
    run = tiny.run(task={"name": "lego"}, train__max_length=3, evaluate__validation_lengths=(1, 3))
    with pytest.raises(
        UserError, match=r"lego has no examples shorter than 2 .*got length 1 in config.*validation"
    ):
        build_setup(run)
