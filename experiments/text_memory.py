"""Peak memory of opening a text and drawing batches of windows, in a process of its own.

    python -m experiments.text_memory  # a file of 2 GiB in the temporary folder

Prints, for a text of 1 MiB and for the large one, the peak resident set size of a process that
imports pe_lab, opens the text with on_demand=True, and draws 200 batches of 32 windows of 1,024
bytes. A text of 128 MiB in memory is the comparison. Exit status: 0.
"""

import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from pe_lab import cli
from pe_lab.cli._arguments import flag, whole_number

MEBIBYTE = 2**20
BATCHES, SIZE, LENGTH = 200, 32, 1024


def draw(path: str, on_demand: bool) -> None:
    """Print the peak in MiB, the seconds of opening and the seconds of drawing."""
    import jax
    import jax.numpy as jnp

    from pe_lab.tasks.language_model import LanguageModel

    started = time.monotonic()
    data_dir = str(Path(path).parent / "sets")
    task = LanguageModel(path=path, data_dir=data_dir, on_demand=on_demand)
    data = jax.device_put(task.data("train"))
    opened = time.monotonic()

    def batch(key, data):
        keys = jax.random.split(key, SIZE)
        length = jnp.asarray(LENGTH)
        return jax.vmap(lambda key: task.sample(key, length, LENGTH, data).target)(keys)

    program = jax.jit(batch)
    for index in range(BATCHES):
        jax.block_until_ready(program(jax.random.key(index), data))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    drawn = time.monotonic()
    print(f"{peak:.0f} MiB, {opened - started:.1f} s to open, {drawn - opened:.1f} s to draw")


@dataclass(frozen=True)
class Options:
    """Arguments of `python -m experiments.text_memory`."""

    mebibytes: int = flag("of the large text", whole_number(1), default=2048)


def run(options: Options) -> int:
    lines = "".join(f"line {index:06d} of a text\n" for index in range(MEBIBYTE // 24))
    block = lines.encode().ljust(MEBIBYTE, b"\n")
    cases = ((1, True), (options.mebibytes, True), (1, False), (128, False))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text")
        for mebibytes, on_demand in cases:
            with path.open("wb") as file:
                for _ in range(mebibytes):
                    file.write(block)
            code = f"from experiments import text_memory as t; t.draw({str(path)!r}, {on_demand})"
            command = [sys.executable, "-c", code]
            process = subprocess.run(command, capture_output=True, text=True, check=True)
            where = "on demand" if on_demand else "in memory"
            print(f"{mebibytes} MiB of text, {where}: {process.stdout.strip()}", flush=True)
    return 0


if __name__ == "__main__":
    cli.main_of(sys.modules[__name__], "python -m experiments.text_memory")
