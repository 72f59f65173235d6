"""The groups of a run's settings as plain data. pe_lab/studies/base.py says what each one means."""

from dataclasses import dataclass
from typing import Any, Literal

from pe_lab.runs.plugins import Plugin
from pe_lab.runs.record_schema import JsonObject

# The stacks of each architecture. A stack bears the name of the layout that feeds it. "cross" is
# the decoder's second attention.
STACKS = {
    "decoder": ("decoder",),
    "encoder": ("encoder",),
    "encoder_decoder": ("encoder", "decoder", "cross"),
}


@dataclass(frozen=True)
class Encoding(Plugin):
    """An encoding with its arguments, and the part of the model in which it acts."""

    # None for an input encoding, which has neither.
    layers: tuple[int, ...] | None  # None: all layers
    share: bool | None  # one module for all layers, or one for each layer
    # Which heads read it. None: all heads.
    heads: tuple[int, ...] | None
    # "encoder", "decoder" or "cross". None: every input, or every self-attention.
    stacks: tuple[str, ...] | None
    # The axis that it reads of positions with several. None: it reads all axes.
    axis: int | None
    # Its own position scheme. None: the scheme of the run.
    positions: Plugin | None
    # The class says it. It is here so that a run's id is known without importing the class.
    reads_positions: bool

    @classmethod
    def from_dict(cls, values: JsonObject) -> "Encoding":
        """Return the encoding of the plain values that `to_dict` gave."""
        arguments = dict(values)
        layers = arguments.pop("layers", None)
        share = arguments.pop("share", None)
        heads = arguments.pop("heads", None)
        stacks = arguments.pop("stacks", None)
        axis = arguments.pop("axis", None)
        positions = arguments.pop("positions", None)
        reads_positions = arguments.pop("reads_positions")
        plugin = Plugin.from_dict(arguments)
        return cls(
            name=plugin.name,
            arguments=plugin.arguments,
            layers=None if layers is None else tuple(layers),
            share=share,
            heads=None if heads is None else tuple(heads),
            stacks=None if stacks is None else tuple(stacks),
            axis=axis,
            positions=None if positions is None else Plugin.from_dict(positions),
            reads_positions=reads_positions,
        )

    def to_dict(self) -> dict[str, Any]:
        return {**self.settings(), "reads_positions": self.reads_positions}

    def settings(self) -> dict[str, Any]:
        """Return the values that a config may hold."""
        values = {**super().to_dict(), "stacks": self.stacks, "axis": self.axis}
        if self.share is not None:
            values |= {"layers": self.layers, "share": self.share}
        # Runs from before these two existed keep their ids, so they are left out where unused.
        if self.heads is not None:
            values["heads"] = self.heads
        if self.positions is not None:
            values["positions"] = self.positions.to_dict()
        return values

    def acts_in(self, stack: str) -> bool:
        """Return whether it acts in a stack. In cross-attention it acts only if it names it."""
        if self.stacks is None:
            return stack != "cross"
        return stack in self.stacks


@dataclass(frozen=True)
class LayoutSettings:
    """How an example becomes tokens. The architecture that reads them follows from the name."""

    name: Literal["decoder", "encoder", "encoder_decoder"]
    end_token: bool
    examples_per_context: int
    document_mask: bool


@dataclass(frozen=True)
class Model:
    """Sizes, choices and encodings of the transformer."""

    width: int
    num_layers: int
    num_heads: int
    feedforward_width: int
    activation: Literal["relu", "gelu", "swiglu", "geglu"]
    norm: Literal["layer", "rms"]
    norm_position: Literal["pre", "post", "both"]
    dropout: float
    scale_embeddings: bool
    tied_output: bool
    qk_norm: bool
    logit_temperature: Literal["none", "log_n", "ssmax"]
    norm_after_attention: bool
    sliding_window: int | None
    sink_token: bool
    num_loops: int
    compute_dtype: Literal["float32", "bfloat16"]
    encodings: tuple[Encoding, ...]
    # Records of version 6 from before a setting existed have its default.
    loop_injection: Literal["none", "add", "linear"] = "none"
    scale_logits: bool = True
    shared_projections: Literal["none", "qk", "qkv"] = "none"
    mixer: Literal["attention", "lstm", "gru"] = "attention"
    convolution_sites: tuple[Literal["A", "B", "C", "D"], ...] = ()
    convolution_width: int = 4
    convolution_residual: bool = True
    token_shift: Literal["none", "keys", "values", "both"] = "none"
    output_gate: Literal["none", "head", "element"] = "none"
    head_output_norm: bool = False
    learned_sinks: bool = False

    @property
    def schemes(self) -> tuple[Plugin, ...]:
        """The position schemes that encodings name, each once."""
        schemes = [e.positions for e in self.encodings if e.positions is not None]
        return tuple(dict.fromkeys(schemes))


@dataclass(frozen=True)
class Train:
    """Batches, lengths, loss and optimizer."""

    steps: int
    criterion: float | Literal["solved"] | None
    extra_steps: int
    batch_size: int
    min_length: int
    max_length: int
    lengths: Plugin
    length_per: Literal["example", "step"]
    num_examples: int | None
    loss_reduction: Literal["token", "example"]
    learning_rate: float
    schedule: Literal["cosine", "linear", "constant"]
    warmup_steps: int
    final_rate_fraction: float
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float
    clip_norm: float
    encoding_rate_factor: float
    encoding_weight_decay: float
    exclude_held_out: bool
    min_loops: int | None = None

    @property
    def decays_after_criterion(self) -> bool:
        """Whether the learning rate decays in the extra steps, and not over all steps."""
        has_criterion = self.criterion is not None
        return has_criterion and self.extra_steps > 0 and self.schedule != "constant"


@dataclass(frozen=True)
class Checkpoints:
    """When a training is saved. The interval is in seconds."""

    interval: float
    keep_final: bool
    keep_curve: bool


@dataclass(frozen=True)
class Execution:
    """How a run is executed. This changes the speed and not the experiment."""

    members: Literal["auto", "map", "vmap"]
    kernels: Literal["auto", "reference"]
    remat: bool
    chunk_steps: int
    max_members: int
    batch_devices: int
    time_limit: float | None = None  # in seconds; records from before it existed have no limit


@dataclass(frozen=True)
class InitFrom:
    """The run whose final parameters another run starts from."""

    study: str  # the name of a folder next to this study's, a path, or "" for the same study
    run_id: str
