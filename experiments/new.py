"""Writes a small working encoding, position scheme, task or metric, and its test.

    python -m experiments.new encoding my_bias                  # a bias of the distance
    python -m experiments.new encoding my_rope --kind=rotation  # or input, data
    python -m experiments.new scheme my_scheme
    python -m experiments.new task my_task
    python -m experiments.new metric my_metric

Both files are complete: the laws pass, and nothing else has to be changed. Replace the equation.
"""

import keyword
import string
from pathlib import Path

from absl import flags

from experiments import command_line
from pe_lab.runs import commands
from pe_lab.runs.errors import UserError, unknown

FOLDERS = {
    "encoding": "encodings",
    "scheme": "positions",
    "task": "tasks",
    "metric": "metrics",
}
KINDS = ("bias", "data", "input", "rotation")
TEMPLATES = Path(__file__).parent / "templates"

_KIND = flags.DEFINE_enum(
    "kind",
    "bias",
    KINDS,
    "kind of encoding: a bias of the distance, a bias that reads data (tokens), an embedding at "
    "the input, or a rotation of queries and keys",
)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        example = commands.python("-m", "experiments.new", "encoding", "my_rope")
        raise UserError(f"Give a family and a name: {example}")
    family, name = arguments
    if family not in FOLDERS:
        raise unknown("experiments.new", family, FOLDERS)
    files = write(Path(), family, name, _KIND.value)
    for file in files:
        print(f"wrote {file}")
    folder = FOLDERS[family]
    laws = commands.python("-m", "pytest", f"tests/{folder}", "-k", name, "-m", "not full")
    print(f"run its laws: {laws}")
    print(f"rebuild the pages: {commands.python('-m', 'docs.build')}")
    return 0


def write(root: Path, family: str, name: str, kind: str) -> list[Path]:
    """Write a member and its test below `root`; return both paths, relative to `root`.

    Raises:
      UserError: the name is taken or cannot be the name of a module.
    """
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise UserError(f"{name!r} cannot name a Python module; take a name such as my_{family}.")
    folder = FOLDERS[family]
    member = Path("pe_lab", folder, f"{name}.py")
    test = Path("tests", folder, f"test_{name}.py")
    if not (root / member).parent.is_dir():
        raise UserError(
            f"There is no folder {member.parent} here; run this in pe_lab's top folder."
        )
    for file in (member, test):
        if (root / file).exists():
            raise UserError(f"{file} exists; take another name.")
    template = f"encoding_{kind}" if family == "encoding" else family
    values = {"name": name, "Class": _class_name(name), "label": name.replace("_", " ")}
    for file, source in ((member, template), (test, f"test_{template}")):
        text = (TEMPLATES / f"{source}.txt").read_text(encoding="utf-8")
        (root / file).write_text(string.Template(text).substitute(values), encoding="utf-8")
    return [member, test]


def _class_name(name: str) -> str:
    """Return the name in CamelCase."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


if __name__ == "__main__":
    command_line.run_with_arguments(main)
