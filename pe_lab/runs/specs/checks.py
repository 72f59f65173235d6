"""How the settings of a run must agree with each other. Their ranges are in settings.py.

Each check raises a UserError with one sentence that names the setting as a config does.
"""

from typing import Any

from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.runs.run import Run
from pe_lab.runs.settings.evaluation_settings import Override
from pe_lab.runs.settings.plugin import Encoding
from pe_lab.runs.settings.settings import STACKS

# Settings of attention, with the value at which they change nothing.
_WITHOUT_ATTENTION = {
    "qk_norm": False,
    "logit_temperature": "none",
    "scale_logits": True,
    "shared_projections": "none",
    "sliding_window": None,
    "convolution_sites": (),
    "token_shift": "none",
    "key_offset": 0,
    "output_gate": "none",
    "head_output_norm": False,
    "learned_sinks": False,
}


def check(run: Run) -> None:
    """Check that the settings of a resolved run agree with each other.

    Raises:
      UserError: two values do not fit each other.
    """
    _check_model(run)
    _check_mixer(run)
    _check_neighbors(run)
    _check_training(run)
    _check_evaluation(run)
    check_encodings(run)


def _check_model(run: Run) -> None:
    width, num_heads = run.model.width, run.model.num_heads
    if width % num_heads:
        raise UserError(f"config.model.num_heads must divide the width {width}, got {num_heads}.")
    devices = run.execution.batch_devices
    sizes = {"train": run.train.batch_size, "evaluate": run.evaluate.batch_size}
    for group, size in sizes.items():
        if size % devices:
            raise UserError(
                f"config.execution.batch_devices must divide config.{group}.batch_size {size}, "
                f"got {devices}."
            )


def _check_mixer(run: Run) -> None:
    """A recurrent net has no attention that the settings of attention could change."""
    mixer = run.model.mixer
    if mixer == "attention":
        return
    if run.layout.name != "decoder":
        raise UserError(
            f"config.model.mixer {mixer!r} reads tokens in order, so config.layout.name must be "
            f"'decoder', got {run.layout.name!r}."
        )
    if run.layout.examples_per_context > 1 and run.layout.document_mask:
        raise UserError(
            f"config.model.mixer {mixer!r} carries its state from one example of a context to the "
            f"next, so config.layout.examples_per_context must be 1 with a document mask."
        )
    for name, value in _WITHOUT_ATTENTION.items():
        setting = getattr(run.model, name)
        if setting != value:
            raise UserError(
                f"config.model.mixer {mixer!r} has no attention, so config.model.{name} must be "
                f"{value!r}, got {setting!r}."
            )


def _check_neighbors(run: Run) -> None:
    """Convolutions, shift, key offset and smear read earlier tokens: only a decoder has them."""
    model = run.model
    sites = model.convolution_sites
    # Another order would be another run id of the same model.
    if sites != tuple(sorted(set(sites))):
        raise UserError(
            f"config.model.convolution_sites must name each site once, in alphabetical order, "
            f"got {sites}."
        )
    if "B" in sites and not set(sites).isdisjoint("QKV"):
        raise UserError(
            f"config.model.convolution_sites must name B or some of Q, K and V, because B is all "
            f"three of them, got {sites}."
        )
    if model.feedforward_width == 0 and not set(sites).isdisjoint("CDF"):
        raise UserError(
            f"config.model.convolution_sites C, D and F are in the feed-forward, so "
            f"config.model.feedforward_width must be more than 0, got sites {sites}."
        )
    options = {"convolution_layers": "convolution_sites", "key_offset_layers": "key_offset"}
    for name, option in options.items():
        layers = getattr(model, name)
        _check_indices(layers, f"config.model.{name}", model.num_layers)
        if layers is not None and not getattr(model, option):
            raise UserError(
                f"config.model.{name} must be None without config.model.{option}, got {layers}."
            )
    head_width = model.width // model.num_heads
    num_offset = model.key_offset * head_width
    if num_offset != round(num_offset):
        raise UserError(
            f"config.model.key_offset must be a whole number of a head's {head_width} channels, "
            f"got {model.key_offset}."
        )
    if model.embedding_smear > model.width:
        raise UserError(
            f"config.model.embedding_smear must be at most the width {model.width}, "
            f"got {model.embedding_smear}."
        )
    off = {"convolution_sites": (), "token_shift": "none", "key_offset": 0, "embedding_smear": 0}
    for name, value in off.items():
        setting = getattr(model, name)
        if setting != value and run.layout.name != "decoder":
            raise UserError(
                f"config.model.{name} reads earlier tokens, so config.layout.name must be "
                f"'decoder', got {run.layout.name!r}."
            )


def _check_training(run: Run) -> None:
    train = run.train
    if train.max_length < train.min_length:
        raise UserError(
            f"config.train.max_length must be at least min_length {train.min_length}, "
            f"got {train.max_length}."
        )
    num_loops = run.model.num_loops
    if train.min_loops is not None and train.min_loops > num_loops:
        raise UserError(
            f"config.train.min_loops must be at most config.model.num_loops {num_loops}, "
            f"got {train.min_loops}."
        )
    if train.schedule_steps is not None and train.decays_after_criterion:
        raise UserError(
            f"config.train.schedule_steps must be None, got {train.schedule_steps}: with "
            f"config.train.criterion the schedule ends extra_steps after the criterion is met."
        )
    if train.criterion is None:
        return
    if train.criterion != "solved" and not 0 < train.criterion <= 1:
        raise UserError(
            f"config.train.criterion is an exact match, more than 0 and at most 1, or 'solved', "
            f"got {train.criterion}."
        )
    if not any(length <= train.max_length for length in run.evaluate.curve_lengths):
        raise UserError(
            f"config.train.criterion is watched on the curve: config.evaluate.curve_lengths needs "
            f"a length up to {train.max_length}, got {run.evaluate.curve_lengths}. To train for "
            f"all steps, set config.train.criterion to None."
        )


def _check_evaluation(run: Run) -> None:
    evaluate, longest = run.evaluate, run.train.max_length
    if not evaluate.lengths:
        raise UserError("config.evaluate.lengths must hold a length.")
    validation = evaluate.validation_lengths
    if not validation or max(validation) > longest:
        raise UserError(
            f"config.evaluate.validation_lengths must hold a length, and none beyond the training "
            f"length {longest}, got {validation}."
        )
    if min(evaluate.all_lengths) < 1:
        raise UserError("config.evaluate's lengths must be at least 1.")
    if not evaluate.offsets or min(evaluate.offsets) < 0:
        raise UserError(
            f"config.evaluate.offsets must hold an offset, and none below 0, "
            f"got {evaluate.offsets}."
        )
    labels = [override.label for override in evaluate.overrides]
    repeated_labels = {label for label in labels if labels.count(label) > 1}
    if repeated_labels:
        label = min(repeated_labels)
        raise UserError(
            f"Two of config.evaluate.overrides are called {label!r}: give one of them another "
            f"label."
        )


def check_override(override: Override, run: Run) -> None:
    """Check the values of an evaluation override of a run.

    Raises:
      UserError: a value does not fit the trained model.
    """
    trained, changed = run.model.logit_temperature, override.logit_temperature
    if changed not in (None, trained) and "ssmax" in (trained, changed):
        raise UserError(
            f"An evaluation override cannot change logit_temperature from {trained!r} to "
            f"{changed!r}, because ssmax has parameters that are trained."
        )
    check_encodings(run.with_override(override))


def check_encodings(run: Run) -> None:
    """Check that encodings act on layers, heads and stacks that exist.

    Raises:
      UserError: one does not.
    """
    if run.model.encodings and run.model.mixer != "attention":
        raise UserError(
            f"config.model.mixer {run.model.mixer!r} takes no encodings: config.model.encodings "
            f"must be ()."
        )
    for encoding in run.model.encodings:
        name = encoding.name
        _check_indices(encoding.layers, f"{name}'s layers", run.model.num_layers)
        # No heads at all is a useful control: it equals nope. No layers is a mistake.
        heads = encoding.heads or None
        _check_indices(heads, f"{name}'s heads", run.model.num_heads)
        _check_stacks(encoding, run.layout.name)
        if run.model.learned_sinks:
            _check_softmax(encoding)


def _check_softmax(encoding: Encoding) -> None:
    """Check that a learned sink has a softmax of which it can take a part."""
    cls: Any = plugins.find("encodings", encoding.name)
    if "normalize" in cls.requirements.replaces:
        raise UserError(
            f"{encoding.name} has its own form of softmax, so config.model.learned_sinks must be "
            f"False."
        )


def _check_indices(indices: tuple[int, ...] | None, name: str, count: int) -> None:
    """Check some layers or heads, of which the model has `count`; None: all of them."""
    if indices is None:
        return
    exist = set(indices) <= set(range(count))
    each_once = len(set(indices)) == len(indices)
    if not indices or not (exist and each_once):
        raise UserError(f"{name} must be some of 0..{count - 1}, each once, got {indices}.")


def _check_stacks(encoding: Encoding, layout: str) -> None:
    if encoding.stacks is None:
        return
    stacks = list(STACKS[layout])
    is_input = encoding.share is None
    if is_input and "cross" in stacks:
        stacks.remove("cross")
    if not encoding.stacks or not set(encoding.stacks) <= set(stacks):
        raise UserError(
            f"{encoding.name}'s stacks must be some of {', '.join(stacks)} in the {layout} layout, "
            f"got {encoding.stacks}."
        )
