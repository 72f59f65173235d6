"""The id of a run depends on what determines its weights, and on nothing else."""

import pytest

from pe_lab.runs import config
from pe_lab.runs.plugins import plugins
from tests import members
from tests.runs.config_runs import PARENT, SHIFTED, encodings, run, values

# Each changes the id alone.
OF_WEIGHTS = {
    "seed": 1,
    "data_seed": 1,
    "task": dict(name="reverse"),
    "task__num_symbols": 63,
    "layout__end_token": False,
    "layout__name": "encoder",
    "layout__examples_per_context": 2,
    "layout__document_mask": False,
    "model__qk_norm": True,
    "model__scale_logits": False,
    "model__shared_projections": "qk",
    "model__convolution_sites": ("A", "C"),
    "model__token_shift": "values",
    "model__key_offset": 0.5,
    "model__embedding_smear": 4,
    "model__output_gate": "head",
    "model__head_output_norm": True,
    "model__learned_sinks": True,
    "model__logit_temperature": "ssmax",
    "model__norm_after_attention": True,
    "model__sliding_window": 4,
    "model__num_loops": 2,
    "model__loop_injection": "add",
    "train__min_loops": 1,
    "model__compute_dtype": "bfloat16",
    "train__criterion": 0.9,
    "train__extra_steps": 5,
    "init_from": PARENT,
    "positions": dict(name="normalized"),
    "model__width": 32,
    "model__num_layers": 1,
    "model__num_heads": 2,
    "model__feedforward_width": 32,
    "model__activation": "relu",
    "model__norm": "rms",
    "model__norm_position": "post",
    "model__dropout": 0.1,
    "model__scale_embeddings": False,
    "model__embedding_std": 0.02,
    "model__tied_output": True,
    "train__steps": 1,
    "train__batch_size": 8,
    "train__min_length": 2,
    "train__max_length": 17,
    "train__length_per": "step",
    "train__num_examples": 10,
    "train__loss_reduction": "example",
    "train__learning_rate": 1e-3,
    "train__schedule": "constant",
    "train__warmup_steps": 0,
    "train__final_rate_fraction": 0.2,
    "train__beta1": 0.8,
    "train__beta2": 0.9,
    "train__epsilon": 1e-7,
    "train__weight_decay": 0,
    "train__clip_norm": 2,
    "train__optimizer": dict(name="muon"),
    "train__encoding_rate_factor": 2,
    "train__backbone_rate_factor": 0,
    "train__encoding_weight_decay": 0.1,
}


@pytest.mark.parametrize(
    "changes",
    [
        *({path: value} for path, value in OF_WEIGHTS.items()),
        dict(layout__name="encoder_decoder"),
        dict(model__mixer="lstm", model__encodings=()),
        dict(model__shared_projections="qkv"),
        dict(model__convolution_sites=("A",), model__convolution_width=3),
        dict(model__convolution_sites=("A",), model__convolution_residual=False),
        dict(model__convolution_sites=("A",), model__convolution_layers=(1,)),
        dict(model__key_offset=0.5, model__key_offset_layers=(1,)),
        encodings(),
        encodings(dict(name="sinusoidal", base=5000)),
        encodings(dict(name="sinusoidal"), dict(name="nope")),
    ],
    ids=str,
)
def test_the_run_id_changes_with_all_that_determines_the_weights(changes):
    assert run(**changes).run_id != run().run_id


# Of a run that trains for all steps.
OF_MEASUREMENTS = {
    "evaluate__lengths": (4,),
    "evaluate__offsets": (0, 64),
    "evaluate__num_examples": 8,
    "evaluate__curve_every": 7,
    "checkpoints__interval": 1,
    "checkpoints__keep_final": False,
    "checkpoints__keep_curve": True,
    "execution__members": "vmap",
    "execution__kernels": "reference",
    "execution__chunk_steps": 7,
    "execution__max_members": 1,
    "execution__remat": True,
    "evaluate__curve_lengths": (8,),
    "evaluate__curve_examples": 8,
    "evaluate__overrides": [dict(positions=SHIFTED)],
    "evaluate__exact_operands": "none",
    "train__extra_steps": 5,
}


@pytest.mark.parametrize(("path", "value"), OF_MEASUREMENTS.items())
def test_the_run_id_ignores_how_a_run_is_measured_saved_and_executed(path, value):
    fixed = run(train__criterion=None)
    changed = run(train__criterion=None, **{path: value})
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


def test_validation_lengths_can_be_chosen_and_do_not_change_the_run_id():
    made = run(evaluate__validation_lengths=[3, 16])
    assert made.evaluate.validation_lengths == (3, 16)
    assert made.run_id == run().run_id


def test_the_run_id_says_that_inputs_are_held_out_and_that_of_an_older_run_does_not():
    first, second = run(train__exclude_held_out=False), run()
    assert first.run_id != second.run_id
    assert "exclude_held_out" not in first.identity()["train"]
    assert second.identity()["train"]["exclude_held_out"] is True


def test_heads_and_a_scheme_are_part_of_the_run_id_only_where_they_are_set():
    plain = run(**encodings(dict(name="fire")))
    (identity,) = plain.identity()["model"]["encodings"]
    assert not {"heads", "positions"} & set(identity)
    changed = [dict(heads=(0,)), dict(heads=(1,)), dict(positions=dict(name="contiguous"))]
    ids = {run(**encodings(dict(name="fire", **change))).run_id for change in changed}
    assert len({plain.run_id, *ids}) == 4
