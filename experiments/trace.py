"""Trace a small sweep: which files of the package run, and how deep the attention's softmax lies.

    python -m experiments.trace [--picture]

It trains one tiny run through the sweep's own processes and writes its tables.
It prints the files of pe_lab, configs and experiments in which a function was called, in order of
their first call, process by process, and the functions of pe_lab on the stack from the training
loop to the softmax.
With --picture it draws the files into docs/architecture.svg. Exit status: 0.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pe_lab import cli
from pe_lab.cli._arguments import flag

ROOT = Path(__file__).parents[1]
PACKAGES = ("pe_lab", "configs", "experiments")
# A study of one small run. The quickstart has the same settings in larger numbers.
STUDY = """
from pe_lab.studies import base
from pe_lab.runs import grid

def get_config():
    c = base.get_config()
    c.task = dict(name="copy", num_symbols=8)
    c.model.update(width=16, num_layers=1, num_heads=2, feedforward_width=16)
    c.train.update(steps=4, batch_size=8, max_length=4, warmup_steps=1)
    c.evaluate.update(lengths=(4, 8), num_examples=16, batch_size=8, curve_every=2)
    c.evaluate.update(curve_lengths=(4,), curve_examples=8)
    return c

def sweep():
    return grid.product({"model.encodings": [({"name": "rope"},)], "seed": range(1)})
"""
# Every Python process that the sweep starts imports a module of this name, if there is one.
TRACER = '''
import os
import sys
import threading
import time

root = os.environ["TRACE_ROOT"] + os.sep
folder = os.environ["TRACE_FOLDER"]
packages = os.environ["TRACE_PACKAGES"].split(",")
softmax_file, softmax_name = os.environ["TRACE_SOFTMAX"].split(":")
seen = set()
started = time.time_ns()


def thread():
    return int(threading.current_thread() is not threading.main_thread())


def note(name, line):
    path = os.path.join(folder, f"{name}-{started}-{os.getpid()}-{thread()}")
    with open(path, "a", encoding="utf-8") as file:
        file.write(line + "\\n")


def is_importing(frame):
    """Whether a module is being imported. A decorator that runs then is no part of the path."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals["__name__"] != "__main__":
            return True
        frame = frame.f_back
    return False


def on_call(frame, event, argument):
    code = frame.f_code
    path = code.co_filename
    if event != "call" or not path.startswith(root) or code.co_name == "<module>":
        return
    path = path[len(root):]
    if path.split(os.sep)[0] not in packages:
        return
    if (thread(), path) not in seen and not is_importing(frame):
        seen.add((thread(), path))
        note("files", path)
    if path == softmax_file and code.co_name == softmax_name:
        stack = []
        while frame is not None:
            stack.append(frame.f_code)
            frame = frame.f_back
        for code in reversed(stack):
            if code.co_filename.startswith(os.path.join(root, "pe_lab")):
                note("stack", f"{code.co_filename[len(root):]}:{code.co_qualname}")
        note("stack", "")


threading.setprofile(on_call)
sys.setprofile(on_call)
'''
LOOP = "pe_lab/training/loop.py:Training.train"
PICTURE = ROOT / "docs" / "architecture.svg"
# The rooms of the picture from top to bottom, each with the folders that it shows.
ROOMS = {
    "commands and configs": ("experiments", "pe_lab/__main__", "pe_lab/cli", "pe_lab/studies"),
    "sweeps": ("pe_lab/sweeps",),
    "training": ("pe_lab/training",),
    "model and kernels": ("pe_lab/model", "pe_lab/kernels"),
    "encodings, positions, tasks": ("pe_lab/encodings", "pe_lab/positions", "pe_lab/tasks"),
    "results and metrics": ("pe_lab/results", "pe_lab/metrics"),
    "runs": ("pe_lab/runs",),
    "names and imports": (
        "pe_lab/__init__",
        "pe_lab/choices",
        "pe_lab/import_path",
        "pe_lab/lazy_names",
        "pe_lab/parts",
    ),
}
STEP = "pe_lab/training/step.py:step"
SOFTMAX = "pe_lab/kernels/attention_cpu.py:_exponentials"


@dataclass(frozen=True)
class Options:
    """Arguments of `python -m experiments.trace`."""

    picture: bool = flag("draw the files into docs/architecture.svg")


@dataclass(frozen=True)
class Trace:
    """What a traced sweep has called.

    Attributes:
      files: in order of their first call, process by process.
      stack: functions of pe_lab from the training loop to the softmax, both included.
    """

    files: tuple[str, ...]
    stack: tuple[str, ...]

    @property
    def package_files(self) -> tuple[str, ...]:
        """The files of pe_lab alone."""
        return tuple(file for file in self.files if file.startswith("pe_lab"))


def trace() -> Trace:
    """Run the sweep and return its trace.

    Raises:
      RuntimeError: the sweep failed, or its training never reached the softmax.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(TRACER, encoding="utf-8")
        notes = Path(folder, "notes")
        notes.mkdir()
        environment = {
            **os.environ,
            "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
            "TRACE_ROOT": str(ROOT),
            "TRACE_FOLDER": str(notes),
            "TRACE_PACKAGES": ",".join(PACKAGES),
            "TRACE_SOFTMAX": SOFTMAX,
        }
        study = Path(folder, "study.py")
        study.write_text(STUDY, encoding="utf-8")
        command = [sys.executable, "-m", "pe_lab", "sweep", str(study), "--workers=1"]
        command.append(f"--results={folder}/results")
        result = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        if result.returncode != 0:
            raise RuntimeError(f"The sweep failed: {result.stderr}")
        files = _read(notes, "files").split()
        stacks = _read(notes, "stack").split("\n\n")
    training = [stack.split() for stack in stacks if LOOP in stack and STEP in stack]
    if not training:
        raise RuntimeError(f"No call of {SOFTMAX} has {LOOP} and {STEP} on its stack.")
    functions = training[0]
    return Trace(tuple(dict.fromkeys(files)), tuple(functions[functions.index(LOOP) :]))


def _read(notes: Path, name: str) -> str:
    """Return the notes of all processes in the order of their starts, main threads first.

    How far two processes are at one time differs from sweep to sweep, and so would one order.
    """
    paths = sorted(
        notes.glob(f"{name}-*"), key=lambda path: [int(part) for part in path.name.split("-")[1:]]
    )
    return "".join(path.read_text(encoding="utf-8") for path in paths)


def picture(files: Sequence[str]) -> str:
    """Return an SVG of the files by room, each with its number in the order of the first calls."""
    columns, box_width, box_height, gap, margin = 4, 232, 24, 8, 16
    left = 190  # the names of the rooms
    elements, y = [], margin
    for room, folders in ROOMS.items():
        members = [file for file in files if file.startswith(folders)]
        rows = -(-len(members) // columns)
        height = rows * (box_height + gap) + gap
        width = columns * (box_width + gap) + gap
        elements.append(
            f'<rect x="{left}" y="{y}" width="{width}" height="{height}" class="room"/>'
            f'<text x="{margin}" y="{y + height / 2 + 5}" class="name">{room}</text>'
        )
        for index, file in enumerate(members):
            x = left + gap + (index % columns) * (box_width + gap)
            top = y + gap + (index // columns) * (box_height + gap)
            label = file.removeprefix("pe_lab/").removesuffix(".py")
            elements.append(
                f'<rect x="{x}" y="{top}" width="{box_width}" height="{box_height}" class="file"/>'
                f'<text x="{x + 8}" y="{top + 17}">{files.index(file) + 1}. {label}</text>'
            )
        y += height + gap
    total = left + columns * (box_width + gap) + gap + margin
    style = (
        "text{font:13px sans-serif;fill:#222}.name{font-weight:bold}"
        ".room{fill:#eef3f8;stroke:#8aa4bf}.file{fill:#fff;stroke:#8aa4bf}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{y + margin}">'
        f'<style>{style}</style><rect width="100%" height="100%" fill="#fff"/>'
        + "\n".join(elements)
        + "</svg>\n"
    )


def run(options: Options) -> int:
    result = trace()
    print(f"{len(result.package_files)} files of pe_lab, {len(result.files)} in all:")
    for file in result.files:
        print(f"  {file}")
    between = len(result.stack) - 2
    print(f"{between} functions of pe_lab between the training loop and the softmax:")
    for function in result.stack:
        print(f"  {function}")
    if options.picture:
        PICTURE.write_text(picture(result.files), encoding="utf-8")
    return 0


if __name__ == "__main__":
    cli.main_of(sys.modules[__name__], "python -m experiments.trace")
