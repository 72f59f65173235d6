import copy
import dataclasses
import json

import pytest

from pe_lab.runs import config, older_records, override_specs, plugins
from pe_lab.runs.errors import UserError
from pe_lab.runs.labels import label, parse
from pe_lab.runs.plugin import Plugin
from pe_lab.runs.run import Run, RunGroup, from_record
from pe_lab.runs.settings import STACKS
from pe_lab.studies import base
from tests import members


def values(**changes):
    """pe_lab/studies/base.py's values, with changes by path: train__steps=3."""
    found = base.get_config().to_dict()
    for path, value in changes.items():
        *parents, last = path.split("__")
        inner = found
        for key in parents:
            inner = inner[key]
        inner[last] = value
    return found


def run(**changes):
    return config.from_dict(values(**changes))


def encodings(*specs):
    return {"model__encodings": specs}


def changed(changes):
    return {"evaluate__overrides": changes}


SHIFTED = dict(name="shifted", max_shift=5)
PARENT = dict(study="exposure", run_id="0123456789abcdef")


def test_a_run_comes_back_from_its_values_also_through_json():
    specs = encodings(
        dict(name="rope", layers=[1], base=500000, stacks=["cross"]), dict(name="learned")
    )
    changes = changed([dict(positions=SHIFTED), dict(encodings=[], label="bare")])
    made = run(
        **specs,
        **changes,
        evaluate__lengths=[4, 8],
        layout__name="encoder_decoder",
        init_from=PARENT,
    )
    assert config.from_dict(made.to_dict()) == made
    assert config.from_dict(json.loads(json.dumps(made.to_dict()))) == made
    assert from_record(json.loads(json.dumps(made.to_dict()))) == made


def test_every_default_is_resolved_into_the_run():
    made = run()
    assert made.task == Plugin("copy", (("distinct", True), ("num_symbols", 64)))
    assert made.to_dict()["model"]["encodings"] == [
        dict(
            name="sinusoidal",
            base=10000.0,
            combine="add",
            layout="interleaved",
            learn_scale=False,
            lift="pad",
            scale=1.0,
            stacks=None,
            axis=None,
            reads_positions=True,
        )
    ]


def test_lists_become_tuples_so_that_a_run_can_be_a_key():
    made = run(evaluate__lengths=[4, 8], **encodings(dict(name="rope", layers=[0])))
    assert (made.evaluate.lengths, made.model.encodings[0].layers) == ((4, 8), (0,))
    assert {made: 1}[
        run(evaluate__lengths=(4, 8), **encodings(dict(name="rope", layers=(0,))))
    ] == 1


def test_an_encoding_in_attention_says_whether_layers_share_it_and_one_at_the_input_does_not():
    made = run(
        **encodings(
            dict(name="rope"),
            dict(name="shaw"),
            dict(name="shaw", share=True),
            dict(name="learned"),
        )
    )
    assert [(e.layers, e.share) for e in made.model.encodings] == [
        (None, True),
        (None, False),
        (None, True),
        (None, None),
    ]


def test_the_data_seed_follows_the_seed_unless_given():
    assert [run(seed=3).data_seed, run(seed=3, data_seed=0).data_seed] == [3, 0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict(trian={}), r"config has no 'trian'\. Did you mean 'train'\?$"),
        (dict(train__step=3), r"config\.train has no 'step'\. Did you mean 'steps'\?"),
        (
            dict(layout__foo=1),
            (
                r"config\.layout has no 'foo'\. It has: document_mask, end_token, "
                r"examples_per_context, name\."
            ),
        ),
        (dict(train=3), r"config\.train must hold steps, criterion, .*, got 3"),
        (
            dict(task="copy"),
            r"One of the tasks is given as dict\(name=\.\.\., \.\.\.\), got 'copy'",
        ),
        (dict(task__name="copyy"), r"pe_lab/tasks has no 'copyy'\. Did you mean 'copy'\?"),
        (dict(task__num_symbol=3), r"copy has no 'num_symbol'\. Did you mean 'num_symbols'\?"),
        (dict(positions=dict(name="shifted")), r"shifted needs max_shift"),
        (dict(seed=True), r"config\.seed must be a whole number, got True"),
        (dict(seed="0"), r"config\.seed must be a whole number, got '0'"),
        (dict(train__steps=2.0), r"config\.train\.steps must be a whole number, got 2\.0"),
        (
            dict(train__learning_rate="fast"),
            r"config\.train\.learning_rate must be a number, got 'fast'",
        ),
        (
            dict(train__num_examples="all"),
            r"config\.train\.num_examples must be a whole number or None, got 'all'",
        ),
        (
            dict(train__schedule="cosin"),
            (
                r"config\.train\.schedule has no 'cosin'\. Did you mean 'cosine'\? It has: "
                r"constant, cosine, "
            ),
        ),
        (
            dict(evaluate__lengths=(8, "a")),
            r"config\.evaluate\.lengths\[1\] must be a whole number, got 'a'",
        ),
        (dict(model__tied_output=1), r"config\.model\.tied_output must be True or False, got 1"),
        (
            encodings("rope"),
            r"One of the encodings is given as dict\(name=\.\.\., \.\.\.\), got 'rope'",
        ),
        (
            dict(model__encodings=dict(name="rope")),
            r"^Encodings are a tuple of dict\(name=\.\.\.\), got \{'name': 'rope'\}",
        ),
        (encodings(dict(name="ropee")), r"pe_lab/encodings has no 'ropee'\. Did you mean 'rope'\?"),
        (encodings(dict(name="rope", bas=1)), r"rope has no 'bas'\. Did you mean 'base'\?"),
        (encodings(dict(name="rope", share=1)), r"rope's share must be True or False, got 1"),
        (
            encodings(dict(name="rope", layers=("0",))),
            r"rope's layers must be .* or None, got \('0',\)",
        ),
        (
            encodings(dict(name="sinusoidal", layers=(0,))),
            r"sinusoidal acts at the input: it takes no layers",
        ),
        (
            encodings(dict(name="sinusoidal", share=False)),
            r"sinusoidal acts at the input: it takes no share",
        ),
        (encodings(dict(name="rope", axis=-1)), r"rope's axis must be 0 or more, got -1"),
        (
            encodings(dict(name="rope", axis=(0, 1))),
            r"rope's axis must be a whole number or None, got \(0, 1\)",
        ),
        (
            encodings(dict(name="rope", stacks="encoder")),
            r"rope's stacks must be a tuple of texts or None, got 'encoder'",
        ),
        (
            encodings(dict(name="rope", stacks=("encoder",))),
            r"rope's stacks must be some of decoder in the decoder layout, got",
        ),
        (
            dict(layout__name="encoderdecoder"),
            r"config\.layout\.name has no 'encoderdecoder'\. Did you mean 'encoder_decoder'\?",
        ),
        (
            dict(model__sliding_window=2.5),
            r"config\.model\.sliding_window must be a whole number or None, got 2\.5",
        ),
        (
            dict(model__compute_dtype="float16"),
            r"config\.model\.compute_dtype has no 'float16'\. Did you mean 'bfloat16'\?",
        ),
        (
            dict(model__logit_temperature="logn"),
            r"config\.model\.logit_temperature has no 'logn'\. Did you mean 'log_n'\?",
        ),
        (
            dict(train__criterion="high"),
            r"config\.train\.criterion must be a number or 'solved' or None, got 'high'",
        ),
        (dict(init_from=3), r"config\.init_from must hold study, run_id, got 3"),
        (dict(init_from=dict(study="a")), r"config\.init_from\.run_id is missing"),
        (
            dict(init_from=dict(study="a", runid="b")),
            r"config\.init_from has no 'runid'\. Did you mean 'run_id'\?",
        ),
        (
            dict(init_from=dict(study="a", run_id=3)),
            r"config\.init_from\.run_id must be a text, got 3",
        ),
        (
            changed(3),
            r"config\.evaluate\.overrides is a tuple of dict\(positions=\.\.\., .*\), got 3",
        ),
        (
            changed([3]),
            (
                r"An evaluation override is given as dict\(positions=\.\.\., .*num_loops=\.\.\.\), "
                r"got 3"
            ),
        ),
        (changed([{}]), r"An evaluation override is given as .*, got \{\}"),
        (
            changed([dict(positions=None, encodings=None)]),
            r"An evaluation override is given as .*, got \{",
        ),
        (
            changed([dict(position=SHIFTED)]),
            r"An evaluation override has no 'position'\. Did you mean 'positions'\?",
        ),
        (
            changed([dict(positions=dict(name="shiftet"))]),
            r"pe_lab/positions has no 'shiftet'\. Did you mean 'shifted'\?",
        ),
        (
            changed([dict(encodings=dict(name="rope"))]),
            r"^Encodings are a tuple of dict\(name=\.\.\.\), got \{'name': 'rope'\}",
        ),
        (changed([dict(encodings=3)]), r"^Encodings are a tuple of dict\(name=\.\.\.\), got 3"),
        (
            changed([dict(encodings=(dict(name="ropee"),))]),
            r"pe_lab/encodings has no 'ropee'\. Did you mean 'rope'\?",
        ),
        (
            changed([dict(encodings=(dict(name="rope", layers=(2,)),))]),
            r"rope's layers must be some of 0\.\.1, each once, got \(2,\)",
        ),
        (
            changed([dict(encodings=(dict(name="rope", stacks=("cross",)),))]),
            r"rope's stacks must be some of decoder in the decoder",
        ),
        (
            changed([dict(task=dict(name="reverse"))]),
            r"gives the task copy other arguments, and cannot put reverse in its place",
        ),
        (
            changed([dict(logit_temperature="ssmax")]),
            r"override cannot change logit_temperature from 'none' to 'ssmax', because ssmax has",
        ),
        (changed([dict(task=3)]), r"override's task is given as dict\(argument=\.\.\.\), got 3"),
        (
            changed([dict(task=dict(distint=True))]),
            r"copy has no 'distint'\. Did you mean 'distinct'\?",
        ),
        (
            changed([dict(task=dict(num_symbols=5))]),
            r"keeps the vocabulary that the model was trained with, and num_symbols=5 changes the "
            r"symbols of copy",
        ),
        (changed([dict(num_loops=0)]), r"override's num_loops must be at least 1, got 0"),
        (
            changed([dict(num_loops=True)]),
            r"override's num_loops must be a whole number, got True",
        ),
        (
            changed([dict(logit_temperature="logn")]),
            r"override's logit_temperature has no 'logn'\. Did you mean 'log_n'\?",
        ),
        (
            changed([dict(task=dict(distinct=False))]) | dict(evaluate__frozen="frozen"),
            r"config\.evaluate\.frozen holds examples of the trained task, so the evaluation "
            r"override 'distinct=False' cannot change the task",
        ),
        (
            changed([dict(encodings=()), dict(encodings=())]),
            r"Two of config\.evaluate\.overrides are called 'none': give one of them",
        ),
    ],
)
def test_what_the_config_does_not_know_is_refused_in_one_sentence(changes, words):
    with pytest.raises(UserError, match=words) as refused:
        run(**changes)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict(model__width=0), r"config\.model\.width must be at least 1, got 0"),
        (dict(model__num_layers=0), r"config\.model\.num_layers must be at least 1, got 0"),
        (
            dict(model__num_layers=100000),
            r"config\.model\.num_layers must be at most 1000, got 100000",
        ),
        (
            dict(model__width=10**9),
            r"config\.model\.width must be at most 1000000, got 1000000000",
        ),
        (dict(model__num_heads=-1), r"config\.model\.num_heads must be at least 1, got -1"),
        (dict(model__feedforward_width=-1), r"config\.model\.feedforward_width must be at least 0"),
        (dict(train__steps=0), r"config\.train\.steps must be at least 1"),
        (dict(train__batch_size=0), r"config\.train\.batch_size must be at least 1"),
        (dict(train__min_length=0), r"config\.train\.min_length must be at least 1"),
        (dict(evaluate__num_examples=0), r"config\.evaluate\.num_examples must be at least 1"),
        (dict(evaluate__batch_size=0), r"config\.evaluate\.batch_size must be at least 1"),
        (dict(evaluate__curve_every=0), r"config\.evaluate\.curve_every must be at least 1"),
        (dict(evaluate__curve_examples=0), r"config\.evaluate\.curve_examples must be at least 1"),
        (dict(execution__chunk_steps=0), r"config\.execution\.chunk_steps must be at least 1"),
        (dict(execution__max_members=0), r"config\.execution\.max_members must be at least 1"),
        (dict(model__num_heads=3), r"config\.model\.num_heads must divide the width 64, got 3"),
        (dict(model__dropout=1), r"config\.model\.dropout must be in \[0, 1\), got 1\.0"),
        (dict(model__dropout=-0.1), r"config\.model\.dropout must be in \[0, 1\), got -0\.1"),
        (
            dict(train__max_length=2, train__min_length=3),
            r"config\.train\.max_length must be at least min_length 3, got 2",
        ),
        (dict(evaluate__lengths=()), r"config\.evaluate\.lengths must hold a length\."),
        (
            dict(evaluate__validation_lengths=(8, 17)),
            (
                r"validation_lengths must hold a length, and none beyond the training length 16, "
                r"got \(8, 17\)"
            ),
        ),
        (dict(evaluate__validation_lengths=()), r"validation_lengths must hold a length"),
        (dict(evaluate__validation_lengths=(0,)), r"config\.evaluate's lengths must be at least 1"),
        (
            dict(train__exclude_held_out=2),
            r"config\.train\.exclude_held_out must be True or False, got 2",
        ),
        (dict(evaluate__lengths=(0, 8)), r"config\.evaluate's lengths must be at least 1"),
        (dict(evaluate__curve_lengths=(0,)), r"config\.evaluate's lengths must be at least 1"),
        (
            dict(evaluate__offsets=()),
            r"config\.evaluate\.offsets must hold an offset, and none below 0, got \(\)",
        ),
        (
            dict(evaluate__offsets=(0, -1)),
            r"config\.evaluate\.offsets must hold an offset, and none below 0, got \(0, -1\)",
        ),
        (
            encodings(dict(name="rope", layers=(0, 2))),
            r"rope's layers must be some of 0\.\.1, each once, got \(0, 2\)",
        ),
        (
            dict(layout__examples_per_context=0),
            r"config\.layout\.examples_per_context must be at least 1, got 0",
        ),
        (dict(model__num_loops=0), r"config\.model\.num_loops must be at least 1, got 0"),
        (dict(train__min_loops=0), r"config\.train\.min_loops must be at least 1, got 0"),
        (
            dict(model__num_loops=3, train__min_loops=4),
            r"config\.train\.min_loops must be at most config\.model\.num_loops 3, got 4\.",
        ),
        (
            dict(model__loop_injection="sum"),
            r"config\.model\.loop_injection has no 'sum'\. It has: add, linear, none\.",
        ),
        (
            dict(model__shared_projections="kv"),
            r"config\.model\.shared_projections has no 'kv'\. .*It has: none, qk, qkv\.",
        ),
        (dict(model__sliding_window=0), r"config\.model\.sliding_window must be at least 1, got 0"),
        (dict(train__extra_steps=-1), r"config\.train\.extra_steps must be at least 0, got -1"),
        (
            dict(train__criterion=0.0),
            r"config\.train\.criterion is .*, more than 0 and at most 1, or 'solved', got 0\.0",
        ),
        (
            dict(train__criterion=1.1),
            r"config\.train\.criterion is .*, more than 0 and at most 1, or 'solved', got 1\.1",
        ),
        (
            dict(train__criterion=0.9, evaluate__curve_lengths=(17, 32)),
            (
                r"config\.train\.criterion is watched on the curve: "
                r"config\.evaluate\.curve_lengths "
                r"needs a length up to 16, got \(17, 32\)\. To train for all steps, set "
                r"config\.train\.criterion to None\.$"
            ),
        ),
        (
            dict(train__max_length=8),  # the default criterion, and the default curve
            r"config\.evaluate\.curve_lengths needs a length up to 8, got \(16, 32\)\.",
        ),
        (
            dict(train__criterion=0.9, evaluate__curve_lengths=()),
            r"config\.train\.criterion is watched on the curve",
        ),
        (
            encodings(dict(name="rope", layers=(-1,))),
            r"rope's layers must be some of 0\.\.1, each once, got \(-1,\)",
        ),
    ],
)
def test_a_value_out_of_range_is_refused(changes, words):
    with pytest.raises(UserError, match=words):
        run(**changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict(evaluate__lengths=8), r"config\.evaluate\.lengths must be a tuple"),
        (encodings(dict(name="rope", layers=1)), r"rope's layers must be a tuple"),
        (
            encodings(dict(name="rope", layers=())),
            r"rope's layers must be some of 0\.\.1, each once, got \(\)",
        ),
        (encodings(dict(name="rope", layers=(1, 1))), r"each once, got \(1, 1\)"),
        (dict(train__num_examples=0), r"config\.train\.num_examples must be at least 1"),
        (dict(train__learning_rate=float("nan")), r"config\.train\.learning_rate must be"),
        (dict(train__weight_decay=float("inf")), r"config\.train\.weight_decay must be"),
        (dict(seed=2**31), r"config\.seed must be"),
    ],
)
def test_what_no_training_could_use_is_refused(changes, words):
    with pytest.raises(UserError, match=words):
        run(**changes)


@pytest.mark.parametrize(
    "section", [f.name for f in dataclasses.fields(Run) if f.name != "evaluated_task"]
)
def test_no_key_may_be_missing(section):
    whole = values()
    if section != "data_seed":
        with pytest.raises(
            UserError,
            match=rf"config\.{section} is missing: pe_lab/runs/settings\.py states every key",
        ):
            config.from_dict({k: v for k, v in whole.items() if k != section})
    inner = (
        whole[section]
        if isinstance(whole[section], dict) and section not in ("task", "positions")
        else {}
    )
    for key in inner:
        with pytest.raises(UserError, match=rf"config\.{section}\.{key} is missing"):
            config.from_dict({**whole, section: {k: v for k, v in inner.items() if k != key}})


@pytest.mark.parametrize(
    "changes",
    [
        dict(seed=1),
        dict(data_seed=1),
        dict(task=dict(name="reverse")),
        dict(task__num_symbols=63),
        dict(layout__end_token=False),
        dict(layout__name="encoder"),
        dict(layout__name="encoder_decoder"),
        dict(layout__examples_per_context=2),
        dict(layout__document_mask=False),
        dict(model__qk_norm=True),
        dict(model__scale_logits=False),
        dict(model__mixer="lstm", model__encodings=()),
        dict(model__shared_projections="qk"),
        dict(model__shared_projections="qkv"),
        dict(model__convolution_sites=("A", "C")),
        dict(model__convolution_sites=("A",), model__convolution_width=3),
        dict(model__convolution_sites=("A",), model__convolution_residual=False),
        dict(model__token_shift="values"),
        dict(model__output_gate="head"),
        dict(model__head_output_norm=True),
        dict(model__learned_sinks=True),
        dict(model__logit_temperature="ssmax"),
        dict(model__norm_after_attention=True),
        dict(model__sliding_window=4),
        dict(model__sink_token=True),
        dict(model__num_loops=2),
        dict(model__loop_injection="add"),
        dict(train__min_loops=1),
        dict(model__compute_dtype="bfloat16"),
        dict(train__criterion=0.9),
        dict(train__extra_steps=5),
        dict(init_from=PARENT),
        dict(positions=dict(name="normalized")),
        dict(model__width=32),
        dict(model__num_layers=1),
        dict(model__num_heads=2),
        dict(model__feedforward_width=32),
        dict(model__activation="relu"),
        dict(model__norm="rms"),
        dict(model__norm_position="post"),
        dict(model__dropout=0.1),
        dict(model__scale_embeddings=False),
        dict(model__tied_output=True),
        encodings(),
        encodings(dict(name="sinusoidal", base=5000)),
        encodings(dict(name="sinusoidal"), dict(name="nope")),
        dict(train__steps=1),
        dict(train__batch_size=8),
        dict(train__min_length=2),
        dict(train__max_length=17),
        dict(train__length_per="step"),
        dict(train__num_examples=10),
        dict(train__loss_reduction="example"),
        dict(train__learning_rate=1e-3),
        dict(train__schedule="constant"),
        dict(train__warmup_steps=0),
        dict(train__final_rate_fraction=0.2),
        dict(train__beta1=0.8),
        dict(train__beta2=0.9),
        dict(train__epsilon=1e-7),
        dict(train__weight_decay=0),
        dict(train__clip_norm=2),
        dict(train__encoding_rate_factor=2),
        dict(train__encoding_weight_decay=0.1),
    ],
    ids=str,
)
def test_the_run_id_changes_with_all_that_determines_the_weights(changes):
    assert run(**changes).run_id != run().run_id


@pytest.mark.parametrize(
    "changes",
    [
        dict(evaluate__lengths=(4,)),
        dict(evaluate__offsets=(0, 64)),
        dict(evaluate__num_examples=8),
        dict(evaluate__curve_every=7),
        dict(checkpoints__interval=1),
        dict(checkpoints__keep_final=False),
        dict(checkpoints__keep_curve=True),
        dict(execution__members="vmap"),
        dict(execution__kernels="reference"),
        dict(execution__chunk_steps=7),
        dict(execution__max_members=1),
        dict(execution__remat=True),
        dict(evaluate__curve_lengths=(8,)),
        dict(evaluate__curve_examples=8),
        changed([dict(positions=SHIFTED)]),
        dict(evaluate__frozen="folder"),
        dict(evaluate__exact_operands="none"),
        dict(train__extra_steps=5),
    ],
    ids=str,
)
def test_the_run_id_ignores_how_a_run_is_measured_saved_and_executed(changes):
    """Of a run that trains for all steps."""
    fixed = run(train__criterion=None)
    changed = run(train__criterion=None, **changes)
    assert changed != fixed
    assert changed.run_id == fixed.run_id


@pytest.mark.parametrize(
    ("changes", "has_own_id"),
    [
        (dict(), True),
        (dict(train__schedule="constant"), False),
        (dict(train__extra_steps=0), False),
        (dict(train__criterion=None), False),
    ],
)
def test_the_run_id_says_where_the_rate_decays_in_the_extra_steps(changes, has_own_id):
    """Earlier versions let it decay over all steps, under the same settings."""
    assert ("decay" in run(**changes).identity()) is has_own_id


def test_the_run_id_ignores_the_order_of_keys_and_whether_defaults_are_written_out():
    whole = values(train__clip_norm=1, task=dict(distinct=True, num_symbols=64, name="copy"))
    assert config.from_dict(dict(reversed(whole.items()))).run_id == run().run_id


def test_the_run_id_is_sixteen_digits():
    assert len(run().run_id) == 16
    assert int(run().run_id, 16) >= 0


def schemes():
    return [members.spec("positions", name) for name in plugins.names("positions")]


@pytest.mark.parametrize("blind", [(dict(name="nope"),), ()], ids=["nope", "no encoding"])
def test_what_reads_no_positions_is_one_run_under_every_scheme(blind):
    assert len({run(positions=scheme, model__encodings=blind).run_id for scheme in schemes()}) == 1


@pytest.mark.parametrize(
    "seeing",
    [(dict(name="sinusoidal"),), (dict(name="nope"), dict(name="rope"))],
    ids=["sinusoidal", "nope + rope"],
)
def test_what_reads_positions_is_another_run_under_each_scheme(seeing):
    assert len(
        {run(positions=scheme, model__encodings=seeing).run_id for scheme in schemes()}
    ) == len(schemes())


def test_the_run_id_holds_the_run_that_it_starts_from_and_not_where_that_lies():
    first, elsewhere, other = (
        run(init_from=PARENT | more).run_id for more in ({}, dict(study=""), dict(run_id="f" * 16))
    )
    assert first == elsewhere
    assert len({first, other, run().run_id}) == 3


@pytest.mark.parametrize(
    "curve",
    [
        dict(evaluate__curve_every=7),
        dict(evaluate__curve_lengths=(8,)),
        dict(evaluate__curve_examples=8),
    ],
)
def test_the_run_id_holds_the_curve_where_it_decides_when_training_ends(curve):
    assert run(train__criterion=0.9, **curve).run_id != run(train__criterion=0.9).run_id


def test_the_run_id_holds_the_operands_where_training_depends_on_them():
    """By the inputs that it leaves out, or by the curve that ends it."""

    def run_ids(task, **changes):
        exact = ("longest", "all", "none")
        return {
            run(task=dict(name=task), evaluate__exact_operands=value, **changes).run_id
            for value in exact
        }

    assert len(run_ids("addition")) == 3
    drawn_freely = dict(train__exclude_held_out=False)
    assert len(run_ids("addition", **drawn_freely, train__criterion=None)) == 1
    assert len(run_ids("addition", **drawn_freely, train__criterion=0.9)) == 3
    assert len(run_ids("copy", train__criterion=0.9)) == 1


@pytest.mark.parametrize(
    ("stacks", "acts"),
    [
        (None, ["encoder", "decoder"]),
        (("encoder",), ["encoder"]),
        (("cross",), ["cross"]),
        (("decoder", "cross"), ["decoder", "cross"]),
    ],
)
def test_an_encoding_acts_between_the_streams_only_when_asked_to(stacks, acts):
    made = run(layout__name="encoder_decoder", **encodings(dict(name="t5_bias", stacks=stacks)))
    assert [s for s in STACKS["encoder_decoder"] if made.model.encodings[0].acts_in(s)] == acts


def test_an_encoding_at_the_input_does_not_act_between_the_streams():
    words = (
        r"learned's stacks must be some of encoder, decoder in the encoder_decoder layout, "
        r"got \('cross',\)"
    )
    with pytest.raises(UserError, match=words):
        run(layout__name="encoder_decoder", **encodings(dict(name="learned", stacks=("cross",))))
    with pytest.raises(UserError, match=r"rope's stacks must be some of encoder, decoder, cross"):
        run(layout__name="encoder_decoder", **encodings(dict(name="rope", stacks=())))


def applied(spec, **changes):
    made = run(**changes)
    return made, made.with_override(override_specs.override(spec, made))


def test_an_override_replaces_only_the_position_scheme():
    made, other = applied(dict(positions=SHIFTED))
    assert other.positions == Plugin("shifted", (("max_shift", 5),))
    assert dataclasses.replace(other, positions=made.positions) == made


def test_an_override_replaces_only_the_encodings():
    made, other = applied(dict(encodings=()))
    assert other.model.encodings == ()
    assert dataclasses.replace(other, model=made.model) == made


def test_an_override_of_the_task_keeps_the_arguments_that_it_leaves_open():
    task = dict(name="addition", padding="none", zero=False)
    trained, other = applied(dict(task=dict(operands=3)), task=task)
    changed = {"operands": 3}
    assert other.task.to_dict() == trained.task.to_dict() | changed
    assert other.evaluated_task.to_dict() == trained.evaluated_task.to_dict() | changed
    assert trained.evaluated_task != trained.task
    unchanged = {"task": trained.task, "evaluated_task": trained.evaluated_task}
    assert dataclasses.replace(other, **unchanged) == trained


def test_an_override_of_the_model_changes_its_settings_and_nothing_else():
    trained, other = applied(dict(num_loops=3, logit_temperature="log_n"))
    assert (other.model.num_loops, other.model.logit_temperature) == (3, "log_n")
    assert dataclasses.replace(other, model=trained.model) == trained


def test_an_override_at_the_trained_values_is_the_run_itself():
    for spec in (dict(task=dict(distinct=True)), dict(num_loops=1, logit_temperature="none")):
        trained, other = applied(spec)
        assert other == trained


def test_a_record_gives_every_override_back():
    specs = (
        dict(task=dict(distinct=False), num_loops=2, axes={"distinct": "yes", "loops": "2"}),
        dict(logit_temperature="log_n", encodings=()),
    )
    overridden = run(evaluate__overrides=specs)
    values = json.loads(json.dumps(overridden.to_dict()))
    assert from_record(values) == config.from_dict(values) == overridden


def test_an_override_holds_only_the_later_fields_that_it_uses():
    assert set(override_specs.override(dict(encodings=()), run()).to_dict()) == {
        "label",
        "positions",
        "encodings",
        "is_complete",
    }


@pytest.mark.parametrize(
    ("trained", "spec"),
    [
        (
            dict(task=dict(name="addition", other_digits=3)),
            dict(task=dict(other_digits=None)),
        ),
        (
            encodings(dict(name="rope", heads=(0,))),
            dict(encodings=(dict(name="rope", heads=None),)),
        ),
        (
            encodings(dict(name="fire", positions=dict(name="contiguous"))),
            dict(encodings=(dict(name="fire", positions=None),)),
        ),
    ],
)
def test_an_override_is_the_same_after_a_file_even_where_it_removes_a_setting(trained, spec):
    overridden = run(**trained, evaluate__overrides=[spec])
    values = json.loads(json.dumps(overridden.to_dict()))
    assert config.from_dict(values) == overridden
    (override,) = overridden.evaluate.overrides
    assert overridden.with_override(override) != overridden


def test_what_a_change_leaves_open_is_as_the_run_was_trained():
    trained = encodings(dict(name="rope", base=5e5, layers=(1,)), dict(name="rope", layers=(0,)))
    made, other = applied(
        dict(encodings=[dict(name="rope", fraction=0.5), dict(name="rope"), dict(name="rope")]),
        **trained,
    )
    first, second, third = other.model.encodings
    assert (dict(first.arguments)["base"], dict(first.arguments)["fraction"], first.layers) == (
        5e5,
        0.5,
        (1,),
    )
    assert second == made.model.encodings[1]
    assert third.layers is None
    made, other = applied(
        dict(positions=dict(name="randomized", per="example")),
        positions=dict(name="randomized", maximum=99),
    )
    assert dict(other.positions.arguments) == {"maximum": 99, "per": "example", "per_layer": False}


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        (dict(positions=SHIFTED), "shifted(max_shift=5)"),
        (dict(encodings=()), "none"),
        (dict(encodings=[dict(name="rope")], positions=SHIFTED), "rope at shifted(max_shift=5)"),
        (dict(encodings=[dict(name="rope")], label="rotary"), "rotary"),
        (dict(task=dict(distinct=False)), "distinct=False"),
        (
            dict(task=dict(distinct=False), encodings=(), num_loops=2, logit_temperature="log_n"),
            "none, distinct=False, num_loops=2, logit_temperature=log_n",
        ),
    ],
)
def test_a_change_reads_as_it_is_written(spec, label):
    assert override_specs.override(spec, run()).label == label


def test_a_member_is_two_seeds_a_learning_rate_a_weight_decay_and_a_parent():
    made = run(seed=3, train__learning_rate=0.5, train__weight_decay=0.25)
    assert made.member_settings() == {
        "seed": 3,
        "data_seed": 3,
        "learning_rate": 0.5,
        "weight_decay": 0.25,
        "init_from": None,
    }
    assert run(init_from=PARENT).member_settings()["init_from"] == "0123456789abcdef"


MEMBERS = [
    dict(seed=1),
    dict(data_seed=1),
    dict(train__learning_rate=0.5),
    dict(train__weight_decay=0.5),
    dict(init_from=PARENT),
]


@pytest.mark.parametrize("changes", MEMBERS, ids=str)
def test_runs_that_differ_in_their_member_are_of_one_group(changes):
    runs = (run(), run(**changes))
    assert runs[0].group_key() == runs[1].group_key()
    assert RunGroup(runs).run == runs[0]


@pytest.mark.parametrize(
    "changes",
    [dict(train__steps=3), dict(train__beta1=0.5), dict(evaluate__num_examples=3), encodings()],
    ids=str,
)
def test_a_group_of_runs_that_differ_otherwise_is_refused(changes):
    with pytest.raises(ValueError, match="differ in seeds, learning rate and weight decay only"):
        RunGroup((run(), run(**changes)))


def test_a_run_group_without_runs_is_refused():
    with pytest.raises(ValueError, match="The runs of a run group"):
        RunGroup(())


def test_a_group_is_known_by_its_runs():
    a, b = run(), run(seed=1)
    assert RunGroup((a, b)).group_id == RunGroup((run(), run(seed=1))).group_id
    assert len({RunGroup(runs).group_id for runs in ((a,), (b,), (a, b), (b, a))}) == 4


def test_a_run_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        run().seed = 1


def test_reading_a_config_leaves_it_as_it_was():
    given = values(**encodings(dict(name="rope", layers=[0])))
    before = copy.deepcopy(given)
    config.from_dict(given)
    assert given == before


@pytest.mark.parametrize(
    ("ends", "lengths"),
    [
        ((1, 8), (1, 2, 3, 4, 5, 6, 7, 8)),
        ((4, 6), (4, 5, 6)),
        ((5, 5), (5,)),
        ((1, 16), (1, 3, 5, 7, 9, 11, 13, 16)),
        ((1, 50), (1, 8, 15, 22, 29, 36, 43, 50)),
    ],
)
def test_validation_lengths_are_the_trained_ones_or_eight_of_them(ends, lengths):
    """Whatever the test lengths are."""
    changes = dict(train__min_length=ends[0], train__max_length=ends[1])
    for tested in ((60,), (2, 4, 100)):
        made = run(**changes, evaluate__lengths=tested, evaluate__curve_lengths=(5,))
        assert made.evaluate.validation_lengths == lengths
        assert made.to_dict()["evaluate"]["validation_lengths"] == list(lengths)


def test_validation_lengths_can_be_chosen_and_do_not_change_the_run_id():
    made = run(evaluate__validation_lengths=[3, 16])
    assert made.evaluate.validation_lengths == (3, 16)
    assert made.run_id == run().run_id


def test_the_run_id_says_that_inputs_are_held_out_and_that_of_an_older_run_does_not():
    first, second = run(train__exclude_held_out=False), run()
    assert first.run_id != second.run_id
    assert "exclude_held_out" not in first.identity()["train"]
    assert second.identity()["train"]["exclude_held_out"] is True


def test_a_run_without_injection_and_drawn_loops_keeps_its_id():
    identity = run(model__num_loops=2).identity()
    assert "loop_injection" not in identity["model"]
    assert "scale_logits" not in identity["model"]
    assert "mixer" not in identity["model"]
    assert "shared_projections" not in identity["model"]
    assert "min_loops" not in identity["train"]


def test_a_record_without_the_settings_of_loops_has_their_defaults():
    settings = run().to_dict()
    del settings["model"]["loop_injection"], settings["train"]["min_loops"]
    assert from_record(older_records.with_added_settings(settings)) == run()


def test_an_encoding_may_name_its_heads_and_its_own_position_scheme():
    fire = dict(name="fire", positions=dict(name="contiguous"), heads=(0, 1))
    (encoding,) = run(**encodings(fire)).model.encodings
    assert encoding.heads == (0, 1)
    assert encoding.positions == Plugin("contiguous", ())


def test_a_label_shows_heads_and_scheme_and_is_read_back():
    spec = dict(name="fire", positions=dict(name="randomized", maximum=64), heads=(0, 1))
    text = label((spec,))
    assert text == "fire(positions=randomized(maximum=64), heads=(0, 1))"
    assert run(**encodings(*parse(text))) == run(**encodings(spec))
    short = run(**encodings(*parse("fire(positions=contiguous)")))
    assert short.model.encodings[0].positions == Plugin("contiguous", ())


def test_heads_and_a_scheme_are_part_of_the_run_id_only_where_they_are_set():
    plain = run(**encodings(dict(name="fire")))
    assert "heads" not in plain.identity()["model"]["encodings"][0]
    assert "positions" not in plain.identity()["model"]["encodings"][0]
    changed = [dict(heads=(0,)), dict(heads=(1,)), dict(positions=dict(name="contiguous"))]
    ids = {run(**encodings(dict(name="fire", **change))).run_id for change in changed}
    assert len({plain.run_id, *ids}) == 4


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (dict(name="fire", heads=(0, 9)), r"fire's heads must be some of 0\.\.\d+, each once"),
        (dict(name="fire", heads=(0, 0)), r"fire's heads must be some of 0\.\.\d+, each once"),
        (dict(name="fire", heads=1), r"fire's heads must be a tuple of whole numbers or None"),
        (dict(name="learned", heads=(0,)), r"learned acts at the input: it takes no heads\."),
        (
            dict(name="nope", positions=dict(name="contiguous")),
            r"nope reads no positions: it takes no positions\.",
        ),
        (dict(name="fire", positions=dict(name="contigous")), r"contigous.*contiguous"),
    ],
)
def test_heads_and_schemes_that_do_not_exist_are_refused(spec, words):
    with pytest.raises(UserError, match=words):
        run(**encodings(spec))
