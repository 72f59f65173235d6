"""Every setting of a run once, by group: type, default, unit, range and meaning.

    clip_norm: float = setting(1.0, "Global norm at which the gradient is clipped.", above=0)

`declarations.py` reads these lines: for the base config, whose values a study's config changes, for
the checks of a config, and for the page of settings. `Evaluate` is in `evaluation_settings.py`, and
`Run` in `run.py`.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from pe_lab.runs.settings.declarations import setting
from pe_lab.runs.settings.plugin import Encoding, Plugin

# The stacks of each architecture. A stack bears the name of the layout that feeds it. "cross" is
# the decoder's second attention.
STACKS = {
    "decoder": ("decoder",),
    "encoder": ("encoder",),
    "encoder_decoder": ("encoder", "decoder", "cross"),
}


@dataclass(frozen=True, kw_only=True)
class LayoutSettings:
    """How an example becomes tokens. The architecture that reads them follows from the name."""

    name: Literal["decoder", "encoder", "encoder_decoder"] = setting(
        "decoder",
        "decoder: BEGIN prompt SEPARATOR target, causal; encoder: the prompt, and blanks that the "
        "model fills; encoder_decoder.",
    )
    end_token: bool = setting(True, "The model also predicts where the target ends.")
    examples_per_context: int = setting(
        1, "Examples that training packs one after the other into a context.", at_least=1
    )
    document_mask: bool = setting(
        True, "Packed examples do not attend to each other, and positions start at 0 in each."
    )


@dataclass(frozen=True, kw_only=True)
class Model:
    """Sizes, choices and encodings of the transformer."""

    # An encoding computes its frequencies from the width: a huge one would fill the memory.
    width: int = setting(64, "Width D of the model.", at_least=1, at_most=1_000_000)
    # As many as the deepest published transformer has (DeepNet, https://arxiv.org/abs/2203.00555).
    # Every layer is built and compiled by itself: a plan of 100 layers takes a quarter of a minute.
    num_layers: int = setting(2, "Layers of each stack.", at_least=1, at_most=1000)
    mixer: Literal["attention", "lstm", "gru"] = setting(
        "attention",
        "What mixes the tokens of a layer: attention, or a recurrent net in its place (lstm, gru), "
        "which reads tokens in order and takes no encodings.",
        in_all_records=False,
    )
    num_heads: int = setting(4, "Heads H of each attention layer.", at_least=1)
    feedforward_width: int = setting(
        256, "Hidden units of the feed-forward. 0: no feed-forward.", at_least=0
    )
    activation: Literal["relu", "gelu", "swiglu", "geglu"] = setting("gelu", "Of the feed-forward.")
    norm: Literal["layer", "rms"] = setting("layer", "LayerNorm or RMSNorm.")
    norm_position: Literal["pre", "post", "both"] = setting(
        "pre",
        "pre: x + f(norm(x)); post: norm(x + f(x)), as in Vaswani et al.; both: a norm before f "
        "and one after the sum.",
    )
    dropout: float = setting(0.0, "Rate at embeddings and sublayer outputs.", below=1)
    scale_embeddings: bool = setting(
        True,
        "Token embeddings are multiplied by sqrt(D): their rms starts at 1 instead of 1 / sqrt(D).",
    )
    embedding_std: float | None = setting(
        None,
        "Standard deviation of the initial token embeddings, before they are multiplied. "
        "None: 1 / sqrt(D).",
        above=0,
        in_all_records=False,
    )
    tied_output: bool = setting(False, "The logits use the matrix of the token embeddings.")

    # Attention.
    qk_norm: bool = setting(False, "RMS norm of each head's queries and keys, before encodings.")
    shared_projections: Literal["none", "qk", "qkv"] = setting(
        "none",
        "Matrices that are one. qk: of queries and keys; qkv: of values too; none: each its own.",
        in_all_records=False,
    )
    scale_logits: bool = setting(
        True, "q·k is divided by sqrt(Dh), the width of a head.", in_all_records=False
    )
    logit_temperature: Literal["none", "log_n", "ssmax"] = setting(
        "none",
        "Factor of q·k for n visible keys. none: 1; log_n: log n; ssmax: s log n, with a learned s "
        "for each head.",
    )
    output_gate: Literal["none", "head", "element"] = setting(
        "none",
        "A learned factor from 0 to 1 of each head's output. head: one number for a head; element: "
        "one for each channel; none: 1.",
        in_all_records=False,
    )
    head_output_norm: bool = setting(
        False, "RMS norm of each head's output, before the gate.", in_all_records=False
    )
    learned_sinks: bool = setting(
        False, "Each head may give weight to no key, by a learned logit.", in_all_records=False
    )
    norm_after_attention: bool = setting(
        False, "One more norm on the output of attention, before it is added."
    )
    sliding_window: int | None = setting(
        None,
        "Tokens that a query sees, its own included (an encoder: to each side). None: all.",
        at_least=1,
    )

    # Decoders only: what a token reads of the ones just before it, outside of attention.
    convolution_sites: tuple[Literal["A", "B", "C", "D", "F", "K", "O", "Q", "V"], ...] = setting(
        (),
        "Sites of a short causal convolution. A: the input of attention; B: queries, keys and "
        "values; Q, K, V: one of these; O: the output of attention; C: the input of the "
        "feed-forward; D: its hidden units; F: its output.",
        in_all_records=False,
    )
    convolution_layers: tuple[int, ...] | None = setting(
        None, "Layers of the convolutions. None: all of them.", in_all_records=False
    )
    convolution_width: int = setting(
        4, "Tokens that a convolution reads, its own included.", at_least=1, in_all_records=False
    )
    convolution_residual: bool = setting(
        True, "The convolution is added to its input.", in_all_records=False
    )
    token_shift: Literal["none", "keys", "values", "both"] = setting(
        "none",
        "Each head mixes the token before into its keys, values or both, with learned weights.",
        in_all_records=False,
    )
    key_offset: float = setting(
        0.0,
        "Share of the channels of each head's keys, the last ones, that are those of the token "
        "before: with rope(fraction=0.5), 0.5 is the channels that it does not rotate.",
        at_least=0,
        at_most=1,
        in_all_records=False,
    )
    key_offset_layers: tuple[int, ...] | None = setting(
        None, "Layers of the key offset. None: all of them.", in_all_records=False
    )
    embedding_smear: int = setting(
        0,
        "Channels of a token's embedding from which a learned gate is computed: the embedding of "
        "the token before is added, times the gate and a learned factor. 0: no smear.",
        at_least=0,
        in_all_records=False,
    )

    num_loops: int = setting(1, "Times that all layers are applied in turn.", at_least=1)
    loop_injection: Literal["none", "add", "linear"] = setting(
        "none",
        "The embedding enters each loop again. add: it is added to the output of the last loop; "
        "linear: a learned map of both; none: it enters the first loop alone.",
        in_all_records=False,
    )
    compute_dtype: Literal["float32", "bfloat16"] = setting(
        "float32", "Of activations. Parameters, positions, biases and softmax are always float32."
    )
    encodings: tuple[Encoding, ...] = setting(
        (dict(name="sinusoidal"),),
        "Files of pe_lab/encodings with their arguments; also axis=0, and for encodings inside "
        "attention layers=(0, 1), share=True.",
    )

    removed = MappingProxyType({"sink_token": False})

    @property
    def schemes(self) -> tuple[Plugin, ...]:
        """The position schemes that encodings name, each once."""
        schemes = [e.positions for e in self.encodings if e.positions is not None]
        return tuple(dict.fromkeys(schemes))


@dataclass(frozen=True, kw_only=True)
class Train:
    """Batches, lengths, loss and optimizer."""

    steps: int = setting(2000, "Largest number of steps of a run.", at_least=1)
    criterion: float | Literal["solved"] | None = setting(
        "solved",
        "Exact match, mean of the curve's lengths up to max_length, that ends a run extra_steps "
        'later, but not before `lengths` has reached max_length. "solved": the task\'s own '
        "threshold. None: every run trains for all steps.",
    )
    extra_steps: int = setting(
        500,
        "Trained after the criterion is met, while the learning rate decays. 0: a run ends at "
        "once, and its rate decays over all steps as without a criterion.",
        at_least=0,
    )
    batch_size: int = setting(
        64,
        "Contexts of a batch. A context is one example unless examples are packed.",
        at_least=1,
    )
    min_length: int = setting(
        1, "Shortest length of training, in the task's unit: symbols, bits, …", at_least=1
    )
    max_length: int = setting(16, "Longest length of training.")
    lengths: Plugin = setting(
        dict(name="uniform"),
        "A file of pe_lab/training/lengths: how often each length is drawn, and when. For example "
        'dict(name="doubling", initial=4, every=500): up to 4, then up to 8 from step 500 on, …',
        in_all_records=False,
    )
    min_loops: int | None = setting(
        None,
        "Each step draws its number of loops, uniform from this to model.num_loops; evaluation has "
        "model.num_loops. None: training has them too.",
        at_least=1,
        in_all_records=False,
    )
    length_per: Literal["example", "step"] = setting(
        "example", "example: each example draws its length; step: one length for the batch."
    )
    num_examples: int | None = setting(
        None, "Size of a finite training set. None: every example is new.", at_least=1
    )
    loss_reduction: Literal["token", "example"] = setting(
        "token", "token: mean over target tokens; example: over examples of their means."
    )

    # The optimizer.
    optimizer: Plugin = setting(
        dict(name="adamw"),
        'A file of pe_lab/training/optimizers, or dict(name="muon"): Muon for the matrices between '
        "embedding and output, AdamW for all else.",
        in_all_records=False,
    )
    learning_rate: float = setting(2e-3, "Largest rate, after the warm-up.", above=0)
    schedule: Literal["cosine", "linear", "constant"] = setting(
        "cosine",
        "Decay after a linear warm-up. With a criterion, the rate stays at its peak until the last "
        "extra_steps of a run.",
    )
    warmup_steps: int = setting(100, "Steps of the linear warm-up.", at_least=0)
    schedule_steps: int | None = setting(
        None,
        "Step at which cosine and linear end, for a run that ends earlier and is continued by "
        "another one (init_from). None: steps.",
        at_least=1,
        in_all_records=False,
    )
    final_rate_fraction: float = setting(
        0.1, "Rate at the end of cosine and linear, relative to learning_rate.", at_least=0
    )
    beta1: float = setting(0.9, "Of AdamW: decay of the mean of gradients.", below=1)
    beta2: float = setting(0.98, "Of AdamW: decay of the mean of squared gradients.", below=1)
    epsilon: float = setting(1e-8, "Added to the root of that mean.", above=0)
    weight_decay: float = setting(0.01, "Decoupled, of the matrices of the backbone.", at_least=0)
    clip_norm: float = setting(1.0, "Global norm at which the gradient is clipped.", above=0)
    encoding_rate_factor: float = setting(
        1.0,
        "Of the encodings' parameters, relative to learning_rate. 0: they are frozen.",
        at_least=0,
    )
    backbone_rate_factor: float = setting(
        1.0,
        "Of all other parameters, relative to learning_rate. 0: they are frozen.",
        at_least=0,
        in_all_records=False,
    )
    encoding_weight_decay: float = setting(
        0.0, "Decoupled, of the encodings' parameters.", at_least=0
    )

    exclude_held_out: bool = setting(
        True,
        "Training never draws an input that is held out for validation and test. False: runs from "
        "before record version 6.",
        in_all_records=False,
        older=False,
    )

    @property
    def decays_after_criterion(self) -> bool:
        """Whether the learning rate decays in the extra steps, and not over all steps."""
        has_criterion = self.criterion is not None
        return has_criterion and self.extra_steps > 0 and self.schedule != "constant"
