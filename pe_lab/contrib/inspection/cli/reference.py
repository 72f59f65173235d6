"""Writes reference numbers of all encodings, for tests of ports.

    pe-lab reference [--out=FILE]

It takes about half a minute of CPU time. The file is a NumPy archive (.npz): for fixed inputs and
parameters, the embeddings, rotated queries and keys, biases, logits and outputs of every encoding.
results/published/reference in pe_lab's checkout has the published file, its description, and a
checker in plain NumPy.
"""

from dataclasses import dataclass
from pathlib import Path

from pe_lab.cli._arguments import file_path, flag
from pe_lab.runs.errors import UserError


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab reference`."""

    out: Path = flag("the file", file_path, default=Path("encodings.npz"))


def run(options: Options) -> int:
    file = options.out
    if file.suffix != ".npz" or not file.parent.is_dir():
        raise UserError(f"--out is the name of an .npz file in an existing folder, got {file}.")
    from pe_lab.contrib.inspection import reference_numbers

    reference_numbers.write(file)
    print(f"wrote {file}: {len(reference_numbers.specs())} encodings, {file.stat().st_size} bytes")
    return 0
