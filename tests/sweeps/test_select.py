import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.sweeps import select
from pe_lab.training import run_records
from tests import tiny

ROPE = dict(name="rope", base=500.0, layers=[0, 1])
LEARNED = dict(name="learned", max_positions=64)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            dict(modle=dict(width=16)),
            "select has no 'modle'. Did you mean 'model'?",
        ),
        (
            dict(model=dict(encoding="rope")),
            "select.model has no 'encoding'. Did you mean 'encodings'?",
        ),
        (dict(train=dict(stepz=3)), "select.train has no 'stepz'. Did you mean 'steps'?"),
        (
            {"model.encodings": "rope"},
            "select has no 'model.encodings'. Did you mean 'model'?",
        ),
    ],
)
def test_a_key_that_no_config_has_is_named_with_the_near_one(asked, sentence):
    with pytest.raises(UserError) as refused:
        select.check(asked, tiny.run("rope").to_dict())
    assert str(refused.value).startswith(sentence)


def test_an_argument_of_a_plugin_is_no_unknown_key():
    select.check(
        dict(task=dict(num_bits=3), model=dict(encodings=(dict(name="rope", base=3),))),
        tiny.run("rope").to_dict(),
    )


def before(*runs):
    return [{**run.to_dict(), "run_id": run.run_id} for run in runs]


def resolved(folder, asked, known=(), **changes):
    """What init_from becomes for a tiny RoPE run."""
    return select.resolve(
        tiny.values(model__encodings=(dict(name="rope"),), init_from=asked, **changes),
        folder,
        before(*known),
    )["init_from"]


def test_a_run_that_starts_from_nothing_is_left_as_it_is(tmp_path):
    values = tiny.values()
    assert select.resolve(values, tmp_path, []) == values


def test_a_run_of_the_same_study_is_found_among_those_before(tmp_path):
    known = [tiny.run(name) for name in ("rope", "alibi")]
    for run in known:
        asked = dict(select=dict(model=dict(encodings=run.model.encodings[0].name)))
        assert resolved(tmp_path, asked, known) == {"study": "", "run_id": run.run_id}


def test_the_values_of_the_run_that_asks_are_else_untouched(tmp_path):
    parent, values = tiny.run("rope"), tiny.values(init_from=dict(select={}))
    found = select.resolve(values, tmp_path, before(parent))
    assert found == {**values, "init_from": {"study": "", "run_id": parent.run_id}}
    assert values["init_from"] == dict(select={})


def test_the_seed_matches_unless_something_else_is_asked(tmp_path):
    known = [
        tiny.run("rope", seed=seed, train__learning_rate=rate)
        for seed in (0, 1)
        for rate in (0.1, 0.2)
    ]
    asked = dict(select=dict(train=dict(learning_rate=0.2)))
    assert [resolved(tmp_path, asked, known, seed=s)["run_id"] for s in (0, 1)] == [
        known[1].run_id,
        known[3].run_id,
    ]
    asked = dict(select=dict(seed=1), match=("train.learning_rate",))
    assert (
        resolved(tmp_path, asked, known, seed=0, train__learning_rate=0.1)["run_id"]
        == known[2].run_id
    )
    asked = dict(select=dict(seed=0), match=["seed", "train.learning_rate", "model.encodings"])
    assert (
        resolved(tmp_path, asked, known, seed=0, train__learning_rate=0.2)["run_id"]
        == known[1].run_id
    )
    one = [tiny.run("rope", seed=7)]
    assert resolved(tmp_path, dict(select={}, match=()), one)["run_id"] == one[0].run_id


def test_a_run_that_was_itself_started_from_another_is_left_out_unless_asked_for(tmp_path):
    parent = tiny.run("rope")
    child = tiny.run("rope", init_from=dict(study="", run_id=parent.run_id))
    assert (
        resolved(tmp_path, dict(select=dict(model=dict(encodings="rope"))), [parent, child])[
            "run_id"
        ]
        == parent.run_id
    )
    asked = dict(select=dict(init_from=dict(run_id=parent.run_id)))
    assert resolved(tmp_path, asked, [parent, child])["run_id"] == child.run_id


def test_a_run_of_another_study_is_found_by_its_record(tmp_path):
    there = [tiny.run("rope", seed=seed) for seed in (0, 1)]
    for run in there:
        records.write(tmp_path / "first", run_records.blank(run) | {"status": "finished"})
    here = tiny.run("rope", train__steps=3)
    asked = dict(study="first", select=dict(model=dict(encodings="rope")))
    assert resolved(tmp_path / "second", asked, [here], seed=1) == {
        "study": "first",
        "run_id": there[1].run_id,
    }
    path = str(tmp_path / "first")
    assert resolved(tmp_path / "elsewhere" / "second", {**asked, "study": path}) == {
        "study": path,
        "run_id": there[0].run_id,
    }


def test_a_run_id_is_taken_as_it_is_given(tmp_path):
    assert resolved(tmp_path, dict(run_id="0123")) == {"study": "", "run_id": "0123"}
    assert resolved(tmp_path, dict(study="first", run_id="0123")) == {
        "study": "first",
        "run_id": "0123",
    }


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            dict(select=dict(model=dict(encodings="shaw"))),
            (
                "config.init_from finds no runs in this study, before this point with "
                "model.encodings=shaw, seed=0: it needs exactly one."
            ),
        ),
        (
            dict(select=dict(train=dict(steps=12)), match=()),
            (
                "config.init_from finds 2 runs in this study, before this point with "
                "train.steps=12: it needs exactly one."
            ),
        ),
        (
            dict(select=dict(model=dict(encodings=(dict(name="rope", base=3),))), match=()),
            (
                "config.init_from finds no runs in this study, before this point with "
                "model.encodings=rope(base=3): it needs exactly one."
            ),
        ),
        (dict(select=dict(modle={})), "select has no 'modle'. Did you mean 'model'?"),
        (
            dict(select={}, match=("sed",)),
            "config.init_from matches 'sed', and the config has no 'sed'. Did you mean 'seed'?",
        ),
        (
            dict(select={}, match=("seed.x",)),
            "config.init_from matches 'seed.x', and the config has no 'x'. It has: nothing.",
        ),
        (
            dict(select={}, matches=()),
            (
                "config.init_from has no 'matches'. Did you mean 'match'? It has: keep, match, "
                "run_id, select, study."
            ),
        ),
        *(
            (
                wrong,
                (
                    f"config.init_from is dict(study=..., select=dict(...), match=(...)) or "
                    f"dict(study=..., run_id=...), got {wrong!r}."
                ),
            )
            for wrong in (
                "rope",
                3,
                {},
                dict(study="first"),
                dict(select="rope"),
                dict(select={}, match="seed"),
                dict(select={}, match=(3,)),
                dict(select={}, study=3),
                dict(run_id=3),
            )
        ),
    ],
)
def test_what_does_not_name_one_run_is_refused_in_one_sentence(tmp_path, asked, sentence):
    with pytest.raises(UserError) as refused:
        resolved(tmp_path, asked, [tiny.run("rope", seed=seed) for seed in (0, 1)])
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_a_study_without_records_is_named(tmp_path):
    with pytest.raises(UserError) as refused:
        resolved(tmp_path / "second", dict(study="first", select={}))
    assert (
        str(refused.value)
        == f"config.init_from finds no records in {tmp_path / 'first'}: sweep that study first."
    )


def test_the_first_point_has_nothing_before_it(tmp_path):
    with pytest.raises(
        UserError,
        match="finds no runs in this study, before this point with seed=0: it needs exactly one",
    ):
        resolved(tmp_path, dict(select={}))
