"""Frozen examples are those that are drawn: to the last bit, and in every number that is measured
on them.
"""

import dataclasses
import json
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs import plugins
from pe_lab.runs.errors import UserError
from pe_lab.runs.evaluation_points import example_counts, grid
from pe_lab.training import frozen_data
from pe_lab.training.build import build_setup
from pe_lab.training.evaluate import Evaluator
from pe_lab.training.loop import train_run_group
from pe_lab.training.random_keys import EVALUATION
from pe_lab.training.state import initial_state
from tests import tiny
from tests.tiny import members
from tests.training import varied

pytestmark = pytest.mark.slow  # all share a trained run

DAMAGED = (
    r"^The frozen examples in .* are damaged \({}\): remove that folder and freeze them again\.$"
)
VARIED = plugins.resolve("tasks", {"name": varied.NAME})
COUNTS = {("validation", 3): 4, ("test", 3): 6, ("test", 5): 6}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Frozen sets of the tiny run's copy, and of a task with all that an example may have."""
    found = tmp_path_factory.mktemp("frozen")
    for task, counts in (*example_counts([tiny.run()]).items(), (VARIED, COUNTS)):
        assert frozen_data.freeze(task, counts, found).new
    return found


def test_a_run_asks_for_its_grid_and_its_curve():
    run = tiny.run(evaluate__curve_lengths=(2, 5), evaluate__curve_examples=20)
    places = {
        ("validation", 2): 20,
        ("validation", 3): 16,
        ("validation", 5): 20,
        ("test", 2): 16,
        ("test", 3): 16,
        ("test", 5): 16,
    }
    assert example_counts([run]) == {run.task: places}
    longer = tiny.run(train__max_length=5, evaluate__num_examples=30, evaluate__lengths=(3, 5))
    more = {("validation", 3): 30, ("validation", 5): 30, ("test", 3): 30, ("test", 5): 30}
    assert example_counts([run, longer]) == {run.task: {**places, **more}}
    other = tiny.run(task={"name": "parity"})
    assert list(example_counts([run, other])) == [run.task, other.task]


@pytest.mark.parametrize("bound", [5, 8])
def test_what_is_read_is_what_is_drawn_leaf_by_leaf(folder, bound):
    task = varied.Varied()
    frozen = frozen_data.FrozenSets(folder, VARIED)
    for (split, length), count in COUNTS.items():
        key = jax.random.key(0)
        for name in (EVALUATION, ("validation", "test").index(split), length):
            key = jax.random.fold_in(key, name)
        drawn = [
            task.sample(jax.random.fold_in(key, i), jnp.asarray(length), bound)
            for i in range(count)
        ]
        read = frozen.batch((split, length), count, 0, count, bound)
        assert jax.tree.structure(read) == jax.tree.structure(drawn[0])
        for leaf, *leaves in zip(jax.tree.leaves(read), *map(jax.tree.leaves, drawn), strict=True):
            assert leaf.dtype == leaves[0].dtype
            np.testing.assert_array_equal(leaf, np.stack(leaves))


def test_a_batch_begins_where_it_is_told_and_what_is_behind_the_last_is_a_repeat(folder):
    frozen = frozen_data.FrozenSets(folder, VARIED)
    whole, part = (frozen.batch(("test", 5), 6, *which, 5) for which in ((0, 6), (4, 4)))
    for all_, some in zip(jax.tree.leaves(whole), jax.tree.leaves(part), strict=True):
        np.testing.assert_array_equal(some, all_[[4, 5, 0, 1]])


def compiled(f, *args):
    return jax.jit(f)


OWN_SCHEMES = (
    {"name": "sinusoidal"},
    {"name": "fire", "positions": {"name": "randomized", "maximum": 64}, "heads": (0,)},
)


@pytest.mark.parametrize("encodings", [(), OWN_SCHEMES], ids=["study's scheme", "own scheme"])
def test_every_row_is_the_same_to_the_last_digit_whether_drawn_or_read(encodings, tmp_path):
    """Of a fresh model, whose likelihoods have all their digits; in batches, the last one not full;
    padded to a longer length.
    """
    places = dict(evaluate__lengths=(2, 3), evaluate__num_examples=12, evaluate__offsets=(0, 2))
    run = tiny.run(*encodings, task={"name": varied.NAME}, model__num_layers=1, **places)
    frozen_data.freeze(*next(iter(example_counts([run]).items())), tmp_path)
    reading = dataclasses.replace(
        run, evaluate=dataclasses.replace(run.evaluate, frozen=str(tmp_path))
    )
    params = initial_state(build_setup(run), members({}, {"seed": 3})).params
    drawn, read = (Evaluator(build_setup(each), (2, 3), compiled) for each in (run, reading))
    rows = read.rows(params, grid(reading))
    assert rows == drawn.rows(params, grid(run))
    assert read.data.cache_info().currsize == 0  # nothing was drawn
    likelihoods = {
        row["value"]
        for of_member in rows
        for row in of_member
        if row["metric"] == "negative_log_likelihood"
    }
    assert len(likelihoods) == 2 * (2 + 4)  # members, places


@pytest.mark.full
def test_a_training_that_reads_leaves_the_record_of_one_that_draws(folder, tmp_path):
    """But for the folder's name, the clock and what was drawn on the way: the curve too."""
    fast = dict(
        model__num_layers=1, train__steps=4, evaluate__lengths=(3,), evaluate__curve_every=4
    )
    drawn = tiny.train(tmp_path / "drawn", tiny.group("rope", seeds=1, **fast))[0]
    read = tiny.train(
        tmp_path / "read", tiny.group("rope", seeds=1, evaluate__frozen=str(folder), **fast)
    )[0]
    assert (drawn["config"]["evaluate"]["frozen"], read["config"]["evaluate"]["frozen"]) == (
        None,
        str(folder),
    )
    for key in ("run_id", "rows", "chance_levels", "curve", "exposure"):
        assert drawn[key] == read[key]
    (one,) = frozen_data.FrozenSets(folder, tiny.run().task).sets
    assert (drawn["provenance"]["frozen"], read["provenance"]["frozen"]) == (None, [one.sha256])


HERE = "copy(distinct=True, num_symbols=6)"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            dict(task={"name": "copy", "num_symbols": 7}),
            (
                "holds no frozen examples of copy(distinct=True, num_symbols=7) of seed 0, but of "
                "copy("
            ),
        ),
        (
            dict(evaluate__lengths=(2, 4)),
            f"holds no frozen test examples of {HERE} of length 4, but of 2, 3, 5.",
        ),
        (
            dict(evaluate__curve_lengths=(3, 5)),
            f"holds no frozen validation examples of {HERE} of length 5, but of 2, 3.",
        ),
        (
            dict(evaluate__num_examples=17),
            f"holds 16 frozen validation examples of {HERE} of length 2, and the config needs 17.",
        ),
        (
            dict(evaluate__frozen="nowhere"),
            "nowhere holds no frozen examples. This command writes them: ",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_trained(
    folder, tmp_path, changes, sentence
):
    group = tiny.group("rope", seeds=1, **{"evaluate__frozen": str(folder), **changes})
    with pytest.raises(UserError) as refused:
        train_run_group(group, tmp_path)
    assert sentence in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_fewer_of_the_examples_are_the_first_ones(folder):
    frozen = frozen_data.FrozenSets(folder, tiny.run().task)
    some, all_ = (frozen.batch(("test", 3), count, 0, 3, 3) for count in (3, 16))
    jax.tree.map(np.testing.assert_array_equal, some, all_)


def test_what_is_frozen_later_stands_beside_and_is_found(folder, tmp_path):
    both = shutil.copytree(folder, tmp_path / "both")
    task = tiny.run().task
    assert frozen_data.freeze(task, {("test", 6): 3}, both).new
    frozen = frozen_data.FrozenSets(both, task)
    assert [len(frozen.rows("test", n, 3)) for n in (3, 6)] == [16, 3]


def one_set(folder, tmp_path):
    copied = shutil.copytree(folder, tmp_path / "copied")
    (path,) = copied.glob("frozen/copy-*/2.0.0")
    return copied, path


def test_another_version_is_refused(folder, tmp_path):
    copied, path = one_set(folder, tmp_path)
    path.rename(path.with_name("0.9.0"))
    with pytest.raises(
        UserError, match=r"holds copy\(.*\) frozen in version 0\.9\.0; this pe_lab reads 2\.0\.0\."
    ):
        frozen_data.FrozenSets(copied, tiny.run().task)


def read_all(copied):
    return frozen_data.FrozenSets(copied, tiny.run().task).rows("test", 3, 16)


def test_another_hash_is_refused(folder, tmp_path):
    copied, path = one_set(folder, tmp_path)
    metadata = json.loads((path / "metadata.json").read_text())
    (path / "metadata.json").write_text(json.dumps({**metadata, "sha256": "0" * 64}))
    with pytest.raises(
        UserError,
        match=DAMAGED.format("they do not match their hash"),
    ):
        read_all(copied)


def test_damage_is_refused_wherever_it_is(folder, tmp_path):
    copied, path = one_set(folder, tmp_path)
    for file in path.iterdir():
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 3])
        with pytest.raises(UserError, match=DAMAGED.format(".*")):
            read_all(copied)
        file.write_bytes(whole)
    assert len(read_all(copied)) == 16


@pytest.mark.parametrize("length", [0, 7])
def test_a_length_that_the_task_has_not_is_refused(tmp_path, length):
    with pytest.raises(
        UserError,
        match=rf"^{HERE}".replace("(", r"\(").replace(")", r"\)")
        + f" has no examples of length {length}",
    ):
        frozen_data.freeze(tiny.run().task, {("test", length): 2}, tmp_path)


def test_a_task_that_draws_otherwise_than_what_was_frozen_is_told(folder, tmp_path, monkeypatch):
    copied, path = one_set(folder, tmp_path)
    rows_of = frozen_data.rows_of
    monkeypatch.setattr(
        frozen_data, "rows_of", lambda length, examples: reversed(list(rows_of(length, examples)))
    )
    with pytest.raises(
        UserError,
        match=(
            rf"^{path} holds other examples than the task draws today: move it away, or give "
            rf"another"
        ),
    ):
        frozen_data.freeze(*next(iter(example_counts([tiny.run()]).items())), copied)
