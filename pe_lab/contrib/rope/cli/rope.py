"""Prints the encodings of a published model, from its config.json.

    pe-lab rope config.json

The file is that of a model on Hugging Face. The output is `config.model.encodings` of a config of
pe_lab: its rotary embeddings (RoPE and its scaling, bases by layer, layers without). A comment
names what no encoding has: a factor of q·k, and windows of attention. A key about positions that is
not known is an error, and so is a value without a meaning. Exit status: 0, or 2 for an error.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from pe_lab.cli._arguments import argument, file_path
from pe_lab.contrib.rope import inkling, rope_parameters
from pe_lab.runs.errors import UserError, one_line


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab rope`."""

    file: Path = argument("a config.json", file_path)


def run(options: Options) -> int:
    if not options.file.exists():
        raise UserError(
            f"There is no file {options.file}. Nothing is downloaded: give the config.json of the "
            f"model as a file."
        )
    try:
        config = json.loads(options.file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as e:
        raise UserError(f"{options.file} cannot be read as JSON: {one_line(e)}.") from e
    if not isinstance(config, dict):
        raise UserError(f"{options.file} must hold an object, got {type(config).__name__}.")
    encodings = rope_parameters.read(config)
    factor = rope_parameters.softmax_factor(config)
    if factor != 1:
        print(f"# Left out: this model also multiplies q·k by {factor:.6g} (mscale_all_dim).")
    for key, size in rope_parameters.masks(config).items():
        print(f"# Left out: {key}={size} of this model is a mask of its attention.")
    for sentence in inkling.left_out(encodings):
        print(f"# Left out: {sentence}")
    print("config.model.encodings = (")
    for spec in encodings:
        arguments = ", ".join(f"{key}={value!r}" for key, value in spec.items())
        print(f"    dict({arguments}),")
    print(")")
    return 0
