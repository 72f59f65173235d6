"""A config with unknown, missing or misplaced settings is refused in one sentence."""

import dataclasses

import pytest

from pe_lab.runs import config
from pe_lab.runs.errors import UserError
from pe_lab.runs.run import Run
from tests.runs.config_runs import SHIFTED, changed, encodings, run, values


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


def test_an_encoding_at_the_input_does_not_act_between_the_streams():
    words = (
        r"learned's stacks must be some of encoder, decoder in the encoder_decoder layout, "
        r"got \('cross',\)"
    )
    with pytest.raises(UserError, match=words):
        run(layout__name="encoder_decoder", **encodings(dict(name="learned", stacks=("cross",))))
    with pytest.raises(UserError, match=r"rope's stacks must be some of encoder, decoder, cross"):
        run(layout__name="encoder_decoder", **encodings(dict(name="rope", stacks=())))


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
