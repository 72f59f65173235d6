"""Writes the reference numbers of all encodings, for tests of ports in other frameworks.

    pe-lab reference [--out=FILE]

The file is a NumPy archive (.npz): for fixed inputs and parameters, the embeddings, rotated queries
and keys, biases, logits and outputs of every encoding. results/published/reference in pe_lab's
checkout has the published file, its description, and a checker in plain NumPy.
"""

import argparse
from pathlib import Path

from pe_lab.runs.errors import UserError


def define(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("encodings.npz"), help="the file")


def run(options: argparse.Namespace) -> int:
    file: Path = options.out
    if file.suffix != ".npz" or not file.parent.is_dir():
        raise UserError(f"--out is the name of an .npz file in an existing folder, got {file}.")
    from pe_lab.inspection import reference_numbers

    reference_numbers.write(file)
    print(f"wrote {file}: {len(reference_numbers.specs())} encodings, {file.stat().st_size} bytes")
    return 0
