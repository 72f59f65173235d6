"""A config with unknown, missing or misplaced settings is refused in one sentence."""

import dataclasses

import pytest

from pe_lab.runs import config
from pe_lab.runs.errors import UserError
from pe_lab.runs.run import Run
from tests.runs.config_runs import SHIFTED, encodings, run, values


def refusal(**changes):
    """The sentence of a config that is refused."""
    with pytest.raises(UserError) as refused:
        run(**changes)
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("trian", {}, "config has no 'trian'. Did you mean 'train'?"),
        ("train.step", 3, "config.train has no 'step'. Did you mean 'steps'?"),
        (
            "layout.foo",
            1,
            "config.layout has no 'foo'. It has: document_mask, end_token, examples_per_context, "
            "name.",
        ),
        ("train", 3, "config.train must hold steps, criterion, "),
        ("task", "copy", "One of the tasks is given as dict(name=..., ...), got 'copy'"),
        ("task.name", "copyy", "pe_lab/tasks has no 'copyy'. Did you mean 'copy'?"),
        ("positions", dict(name="shifted"), "shifted needs max_shift"),
        ("seed", True, "config.seed must be a whole number, got True"),
        ("seed", "0", "config.seed must be a whole number, got '0'"),
        ("train.steps", 2.0, "config.train.steps must be a whole number, got 2.0"),
        ("train.learning_rate", "fast", "config.train.learning_rate must be a number, got 'fast'"),
        (
            "train.num_examples",
            "all",
            "config.train.num_examples must be a whole number or None, got 'all'",
        ),
        (
            "train.schedule",
            "cosin",
            "config.train.schedule has no 'cosin'. Did you mean 'cosine'? It has: constant, cosine",
        ),
        (
            "train.criterion",
            "high",
            "config.train.criterion must be a number or 'solved' or None, got 'high'",
        ),
        (
            "evaluate.lengths",
            (8, "a"),
            "config.evaluate.lengths[1] must be a whole number, got 'a'",
        ),
        ("model.tied_output", 1, "config.model.tied_output must be True or False, got 1"),
        (
            "model.compute_dtype",
            "float16",
            "config.model.compute_dtype has no 'float16'. Did you mean 'bfloat16'?",
        ),
        ("init_from", 3, "config.init_from must hold study, run_id, keep, got 3"),
        ("init_from", dict(study="a"), "config.init_from.run_id is missing"),
        (
            "init_from",
            dict(study="a", runid="b"),
            "config.init_from has no 'runid'. Did you mean 'run_id'?",
        ),
        (
            "init_from",
            dict(study="a", run_id=3),
            "config.init_from.run_id must be a text, got 3",
        ),
    ],
)
def test_a_setting_that_no_config_has_is_refused(path, value, sentence):
    assert refusal(**{path.replace(".", "__"): value}).startswith(sentence)


@pytest.mark.parametrize(
    ("specs", "sentence"),
    [
        (["rope"], "One of the encodings is given as dict(name=..., ...), got 'rope'"),
        (dict(name="rope"), "Encodings are a tuple of dict(name=...), got {'name': 'rope'}"),
        ([dict(name="rope", bas=1)], "rope has no 'bas'. Did you mean 'base'?"),
        ([dict(name="rope", share=1)], "rope's share must be True or False, got 1"),
        (
            [dict(name="rope", layers=("0",))],
            "rope's layers must be a tuple of whole numbers or None, got ('0',)",
        ),
        ([dict(name="rope", axis=-1)], "rope's axis must be 0 or more, got -1"),
        (
            [dict(name="rope", axis=(0, 1))],
            "rope's axis must be a whole number or None, got (0, 1)",
        ),
        (
            [dict(name="rope", stacks="encoder")],
            "rope's stacks must be a tuple of texts or None, got 'encoder'",
        ),
        (
            [dict(name="rope", stacks=("encoder",))],
            "rope's stacks must be some of decoder in the decoder layout, got",
        ),
        ([dict(name="fire", heads=(0, 9))], "fire's heads must be some of 0..3, each once"),
        ([dict(name="fire", heads=(0, 0))], "fire's heads must be some of 0..3, each once"),
        ([dict(name="fire", heads=1)], "fire's heads must be a tuple of whole numbers or None"),
        *(
            (
                [{"name": "sinusoidal", name: value}],
                f"sinusoidal acts at the input: it takes no {name}.",
            )
            for name, value in dict(layers=(0,), share=False, heads=(0,)).items()
        ),
        (
            [dict(name="nope", positions=dict(name="contiguous"))],
            "nope reads no positions: it takes no positions.",
        ),
        (
            [dict(name="fire", positions=dict(name="contigous"))],
            "pe_lab/positions has no 'contigous'. Did you mean 'contiguous'?",
        ),
    ],
)
def test_an_encoding_that_no_model_can_have_is_refused(specs, sentence):
    assert refusal(model__encodings=specs).startswith(sentence)


@pytest.mark.parametrize(
    ("spec", "stacks"),
    [
        (dict(name="learned", stacks=("cross",)), "encoder, decoder in the encoder_decoder layout"),
        (dict(name="rope", stacks=()), "encoder, decoder, cross in the encoder_decoder layout"),
    ],
)
def test_an_encoding_at_the_input_does_not_act_between_the_streams(spec, stacks):
    sentence = refusal(layout__name="encoder_decoder", **encodings(spec))
    assert sentence.startswith(f"{spec['name']}'s stacks must be some of {stacks}, got ")


OVERRIDE = "An evaluation override"
SPEC = "dict(positions=..., encodings=..., task=..., num_loops=...)"


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (3, f"config.evaluate.overrides is a tuple of {SPEC}, got 3"),
        ([3], f"{OVERRIDE} is given as {SPEC}, got 3"),
        ([{}], f"{OVERRIDE} is given as {SPEC}, got {{}}"),
        ([dict(positions=None, encodings=None)], f"{OVERRIDE} is given as {SPEC}, got {{"),
        ([dict(position=SHIFTED)], f"{OVERRIDE} has no 'position'. Did you mean 'positions'?"),
        (
            [dict(positions=dict(name="shiftet"))],
            "pe_lab/positions has no 'shiftet'. Did you mean 'shifted'?",
        ),
        (
            [dict(encodings=dict(name="rope"))],
            "Encodings are a tuple of dict(name=...), got {'name': 'rope'}",
        ),
        ([dict(encodings=3)], "Encodings are a tuple of dict(name=...), got 3"),
        (
            [dict(encodings=(dict(name="rope", layers=(2,)),))],
            "rope's layers must be some of 0..1, each once, got (2,)",
        ),
        (
            [dict(encodings=(dict(name="rope", stacks=("cross",)),))],
            "rope's stacks must be some of decoder in the decoder",
        ),
        (
            [dict(task=dict(name="reverse"))],
            f"{OVERRIDE} gives the task copy other arguments, and cannot put reverse in its place",
        ),
        ([dict(task=3)], f"{OVERRIDE}'s task is given as dict(argument=...), got 3"),
        ([dict(task=dict(distint=True))], "copy has no 'distint'. Did you mean 'distinct'?"),
        (
            [dict(task=dict(num_symbols=5))],
            f"{OVERRIDE} keeps the vocabulary that the model was trained with, and num_symbols=5 "
            "changes the symbols of copy",
        ),
        ([dict(num_loops=0)], f"{OVERRIDE}'s num_loops must be at least 1, got 0"),
        ([dict(num_loops=True)], f"{OVERRIDE}'s num_loops must be a whole number, got True"),
        (
            [dict(logit_temperature="logn")],
            f"{OVERRIDE}'s logit_temperature has no 'logn'. Did you mean 'log_n'?",
        ),
        (
            [dict(logit_temperature="ssmax")],
            f"{OVERRIDE} cannot change logit_temperature from 'none' to 'ssmax', because ssmax has",
        ),
        (
            [dict(encodings=()), dict(encodings=())],
            "Two of config.evaluate.overrides are called 'none': give one of them",
        ),
    ],
)
def test_an_override_that_does_not_fit_is_refused(overrides, sentence):
    assert refusal(evaluate__overrides=overrides).startswith(sentence)


@pytest.mark.parametrize(
    "section", [f.name for f in dataclasses.fields(Run) if f.name != "evaluated_task"]
)
def test_no_key_may_be_missing(section):
    whole = values()

    def sentence(settings):
        with pytest.raises(UserError) as refused:
            config.from_dict(settings)
        return str(refused.value)

    if section != "data_seed":
        missing = sentence({k: v for k, v in whole.items() if k != section})
        assert missing == (
            f"config.{section} is missing: pe_lab/runs/settings/settings.py states every key."
        )
    if section in ("task", "positions") or not isinstance(whole[section], dict):
        return
    for key in whole[section]:
        group = {k: v for k, v in whole[section].items() if k != key}
        assert sentence({**whole, section: group}).startswith(f"config.{section}.{key} is missing")
