"""Every setting once, with its unit and meaning. A study's config changes some of them."""

from typing import Any

import ml_collections
from ml_collections import config_dict

Settings = dict[str, Any]  # the values are of any type, and placeholders for a type


def get_config() -> ml_collections.ConfigDict:
    c = ml_collections.ConfigDict()
    # Seed of the initial weights.
    c.seed = 0
    # Seed of batches, positions and dropout. None: the same as seed.
    c.data_seed = config_dict.placeholder(int)
    # A file of pe_lab/tasks, or "package.module:Class", with its arguments.
    c.task = dict(name="copy")
    # A file of pe_lab/positions, with its arguments.
    c.positions = dict(name="contiguous")
    c.layout = _layout()
    c.model = _model()
    # A run to start from: dict(study="exposure", select=dict(model=dict(encodings="rope"))).
    c.init_from = config_dict.placeholder(object)
    c.train = _train()
    c.evaluate = _evaluate()
    c.checkpoints = _checkpoints()
    c.execution = _execution()
    # A file of pe_lab/sweeps/launchers, which starts run groups, and its arguments. It is not part
    # of a record.
    c.launcher = dict(name="local")
    return c


def _layout() -> Settings:
    return dict(
        # decoder: BEGIN prompt SEPARATOR target, causal; encoder: the prompt, and blanks that the
        # model fills; encoder_decoder.
        name="decoder",
        # The model also predicts where the target ends.
        end_token=True,
        # Examples that training packs one after the other into a context.
        examples_per_context=1,
        # Packed examples do not attend to each other, and positions start at 0 in each.
        document_mask=True,
    )


def _model() -> Settings:
    return dict(
        # Width D of the model.
        width=64,
        # At most 1000.
        num_layers=2,
        # What mixes the tokens of a layer: attention, or a recurrent net in its place (lstm, gru),
        # which reads tokens in order and takes no encodings.
        mixer="attention",
        # Heads H of each attention layer.
        num_heads=4,
        # 0: no feed-forward.
        feedforward_width=256,
        # relu, gelu, swiglu or geglu.
        activation="gelu",
        # layer or rms.
        norm="layer",
        # pre: x + f(norm(x)); post: norm(x + f(x)), as in Vaswani et al.; both: a norm before f and
        # one after the sum.
        norm_position="pre",
        # Rate at embeddings and sublayer outputs, in training only.
        dropout=0.0,
        # Token embeddings are multiplied by sqrt(D): their rms starts at 1 instead of 1 / sqrt(D).
        scale_embeddings=True,
        # The logits use the matrix of the token embeddings.
        tied_output=False,
        **_attention(),
        **_neighbors(),
        # Times that all layers are applied, one after the other.
        num_loops=1,
        # The embedding enters each loop again. add: it is added to the output of the last loop;
        # linear: a learned map of both; none: it enters the first loop alone.
        loop_injection="none",
        # float32 or bfloat16. Parameters, positions, biases and softmax are always float32.
        compute_dtype="float32",
        # Files of pe_lab/encodings with their arguments; also axis=0, and for encodings inside
        # attention layers=(0, 1), share=True.
        encodings=(dict(name="sinusoidal"),),
    )


def _attention() -> Settings:
    return dict(
        # RMS norm of the queries and keys of each head, before any encoding.
        qk_norm=False,
        # Matrices that are one. qk: of queries and keys; qkv: of values too; none: each its own.
        shared_projections="none",
        # q·k is divided by sqrt(Dh), the width of a head.
        scale_logits=True,
        # Factor of q·k for n visible keys. none: 1; log_n: log n; ssmax: s log n, with a learned s
        # for each head.
        logit_temperature="none",
        # A learned factor from 0 to 1 of each head's output. head: one number for a head; element:
        # one for each channel; none: 1.
        output_gate="none",
        # RMS norm of each head's output, before the gate.
        head_output_norm=False,
        # Each head may give a part of its weight to no key, by a learned logit.
        learned_sinks=False,
        # One more norm on the output of attention, before it is added.
        norm_after_attention=False,
        # Tokens that a query sees, its own included (an encoder: to each side). None: all.
        sliding_window=config_dict.placeholder(int),
        # A learned token before the first, which every query sees in any window and segment.
        sink_token=False,
    )


def _neighbors() -> Settings:
    """Decoders only: what a token reads of the ones just before it, outside of attention."""
    return dict(
        # Sites of a short causal convolution in each layer. A: the input of attention; B: queries,
        # keys and values; C: the input of the feed-forward; D: its hidden units.
        convolution_sites=(),
        # Tokens that a convolution reads, its own included.
        convolution_width=4,
        # The convolution is added to its input.
        convolution_residual=True,
        # Each head mixes the token before into its keys, values or both, with learned weights.
        token_shift="none",
    )


def _train() -> Settings:
    return dict(
        # Largest number of steps of a run.
        steps=2000,
        # Exact match, mean of the curve's lengths up to max_length, that ends a run extra_steps
        # later, but not before `lengths` has reached max_length. "solved": the task's own
        # threshold. None: every run trains for all steps.
        criterion=config_dict.FieldReference("solved", field_type=object),
        # Trained after the criterion is met, while the learning rate decays. 0: a run ends at once,
        # and its rate decays over all steps as without a criterion.
        extra_steps=500,
        # Contexts of a batch. A context is one example unless examples are packed.
        batch_size=64,
        # Lengths in the task's unit: symbols, bits, …
        min_length=1,
        max_length=16,
        # A file of pe_lab/training/lengths: how often each length is drawn, and when. For example
        # dict(name="doubling", initial=4, every=500): up to 4, then up to 8 from step 500 on, …
        lengths=dict(name="uniform"),
        # Each step draws its number of loops, uniform from this to model.num_loops; evaluation has
        # model.num_loops. None: training has them too.
        min_loops=config_dict.placeholder(int),
        # example: each example draws its length; step: one length for the batch.
        length_per="example",
        # Size of a finite training set. None: every example is new.
        num_examples=config_dict.placeholder(int),
        # token: mean over target tokens; example: over examples of their means.
        loss_reduction="token",
        **_optimizer(),
        # Training never draws an input that is held out for validation and test. False: runs from
        # before record version 6.
        exclude_held_out=True,
    )


def _optimizer() -> Settings:
    """AdamW."""
    return dict(
        # Largest rate, after the warm-up.
        learning_rate=2e-3,
        # Decay after a linear warm-up: cosine, linear or constant. With a criterion, the rate stays
        # at its peak until the last extra_steps of a run.
        schedule="cosine",
        warmup_steps=100,
        # Rate at the end of cosine and linear, relative to learning_rate.
        final_rate_fraction=0.1,
        beta1=0.9,
        beta2=0.98,
        epsilon=1e-8,
        # Decoupled, of the matrices of the backbone.
        weight_decay=0.01,
        # Global norm at which the gradient is clipped.
        clip_norm=1.0,
        # Learning rate of the encodings' parameters, relative to the backbone's.
        encoding_rate_factor=1.0,
        encoding_weight_decay=0.0,
    )


def _evaluate() -> Settings:
    return dict(
        # Test lengths.
        lengths=(8, 16, 24, 32),
        # Lengths up to max_length whose mean exact match decides whether a run is solved. None: all
        # trained lengths, or eight of them spread evenly if there are more.
        validation_lengths=config_dict.placeholder(tuple),
        # Added to every position: positions that training did not show, at any length.
        offsets=(0,),
        # Evaluations with dict(positions=…, encodings=…, task=dict(argument=…), num_loops=…,
        # logit_temperature=…) in place of the trained settings. grid.overrides in pe_lab/runs makes
        # every combination of values.
        overrides=(),
        # Operands that have exactly n digits at length n: the "longest" (one at least), "all", or
        # "none" (up to n digits, as in training). Tasks without operands are the same in all three.
        exact_operands="longest",
        # Attributes of the task's examples, such as ("num_ones",), by whose values exact match is
        # measured too. docs/tasks.md lists those of each task.
        attributes=(),
        # Examples for each length and offset.
        num_examples=512,
        # Examples of a batch.
        batch_size=256,
        # Steps between evaluations during training, at which the criterion is checked.
        curve_every=500,
        curve_lengths=(16, 32),
        curve_examples=128,
        # A folder of `pe-lab freeze` with the examples. None: the same examples are drawn.
        frozen=config_dict.placeholder(str),
    )


def _checkpoints() -> Settings:
    return dict(
        # Seconds between checkpoints. There is always one at the end.
        interval=60.0,
        # The last checkpoint stays after the records are written.
        keep_final=True,
        # With keep_final, the parameters at every point of the curve stay too. pe-lab inspect
        # shows the course of training from them.
        keep_curve=False,
    )


def _execution() -> Settings:
    """Settings that change the speed and no result. They are not part of a run's id."""
    return dict(
        # map: members run one after the other in one program; vmap: as one batch; auto: vmap on an
        # accelerator.
        members="auto",
        # auto: faster forms for the backend; reference: plain JAX with the equations as written.
        kernels="auto",
        # Recompute the inner values of a layer in the backward pass instead of keeping them.
        remat=False,
        # Steps of one call.
        chunk_steps=100,
        # Members that share a program.
        max_members=8,
        # Devices that share the batch of a member. The members are sharded over the other devices
        # of a process.
        batch_devices=1,
        # Seconds that the process of a run group may take; then it is ended, and its runs are
        # recorded as failed. Each new start after a preemption has the same time. None: no limit.
        time_limit=config_dict.placeholder(float),
    )
