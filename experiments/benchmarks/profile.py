"""The time of a training step by function of pe_lab, from the profiler's events."""

import collections
import gzip
import json
import re
import tempfile
from pathlib import Path

import jax

import pe_lab
from pe_lab.contrib.grids.step_time import Program
from pe_lab.runs.records.record_schema import JsonObject

PACKAGE = Path(pe_lab.__file__).parent
INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?([\w.-]+) = .*stack_frame_id=(\d+)")
SECTIONS = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


def profile(program: Program, num_steps: int) -> dict[str, float]:
    """Seconds of a step by place ("encodings/rope.py RoPE.qk"), the longest first.

    Fused instructions count for the place of the last one. Instructions that run in parallel are
    all counted, so the sum may exceed the time of a step. "elsewhere" has the instructions without
    a place in pe_lab.
    """
    places = _places(program.compiled.as_text() or "")
    seconds: collections.Counter[str] = collections.Counter()
    for event in _events(program, num_steps):
        seconds[places.get(event["args"]["hlo_op"], "elsewhere")] += event["dur"] * 1e-6 / num_steps
    return dict(seconds.most_common())


def _events(program: Program, num_steps: int) -> list[JsonObject]:
    """Of the instructions themselves: loops and calls, which hold others, are left out."""
    program.seconds()
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for _ in range(num_steps):
                program.seconds()
        (file,) = Path(folder).rglob("*.trace.json.gz")
        events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    held = re.compile(r"(while|call|conditional)[.\d]*$")
    return [
        e for e in events if "hlo_op" in e.get("args", {}) and not held.match(e["args"]["hlo_op"])
    ]


def _places(text: str) -> dict[str, str]:
    """The innermost function of pe_lab that each instruction of a compiled program stems from."""
    tables: dict[str, dict[int, str]] = {name: {} for name in SECTIONS}
    section, frames = None, {}
    for line in text.splitlines():
        section = line if line in tables else section if line else None
        if section and (row := re.match(r"(\d+) (.*)", line)):
            tables[section][int(row[1])] = row[2]
        elif instruction := INSTRUCTION.match(line):
            frames[instruction[1]] = int(instruction[2])
    return {name: place for name, frame in frames.items() if (place := _place(tables, frame))}


def _place(tables: dict[str, dict[int, str]], frame: int) -> str | None:
    while frame:
        location, parent = (int(n) for n in re.findall(r"=(\d+)", tables["StackFrames"][frame]))
        file, function = (
            int(n) for n in re.findall(r"=(\d+)", tables["FileLocations"][location])[:2]
        )
        # A program from the compilation cache may have the paths of another checkout.
        path = tables["FileNames"][file].strip('"')
        _, package, name = path.rpartition("/pe_lab/")
        if package and (PACKAGE / name).is_file():
            return f"{name} {tables['FunctionNames'][function].strip(chr(34))}"
        frame = parent - 1  # a frame that has no parent is written as having 1
    return None
