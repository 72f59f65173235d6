"""Writes a small encoding, scheme, task, metric or study that works.

    pe-lab new encodings my_bias                  # a bias of the distance
    pe-lab new encodings my_rope --kind=rotation  # or input, data
    pe-lab new positions my_scheme
    pe-lab new tasks my_task
    pe-lab new metrics my_metric
    pe-lab new study my_text --text=notes/        # of a folder or file of text

In the top folder of a checkout of pe_lab, the files go where its members and tests are. Elsewhere
they go into the current folder, and a config names the class: dict(name="my_bias:MyBias"). A
member and its test are complete: the laws pass, and nothing else has to be changed. Replace the
equation.

A study is one config, in configs/ if there is this folder. It runs as it is: its lengths are those
that the text has.
"""

import importlib
import importlib.util
import keyword
import string
from dataclasses import dataclass
from pathlib import Path

from pe_lab import parts
from pe_lab.cli._arguments import argument, flag
from pe_lab.runs.errors import UserError
from pe_lab.runs.system import commands, files

TEMPLATE_OF = {"encodings": "encoding", "positions": "scheme", "tasks": "task", "metrics": "metric"}
FAMILIES = (*TEMPLATE_OF, "study")
KINDS = ("bias", "data", "input", "rotation")
TEMPLATES = Path(__file__).parent / "_templates"


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab new`."""

    family: str = argument(f"what to write: {', '.join(FAMILIES)}", choices=FAMILIES)
    name: str = argument("the name of its file, such as my_rope")
    kind: str | None = flag(
        "of an encoding: a bias of the distance (the default), a bias that reads data (tokens), "
        "an embedding at the input, or a rotation of queries and keys",
        default=None,
        choices=KINDS,
    )
    text: str | None = flag("of a study: a folder or a file of text", str, default=None)


def run(options: Options) -> int:
    family, name = options.family, options.name
    if family == "study" and options.text is None:
        raise UserError("A study needs --text=FOLDER, the text that it trains on.")
    if family != "study" and options.text is not None:
        raise UserError("--text is for a study only.")
    if family != "encodings" and options.kind is not None:
        raise UserError("--kind is for encodings only.")
    if options.text is not None:
        check_name(name, "text")
        module = importlib.import_module(parts.module("cli", "_new_study") or "")
        file = module.unused_file(Path(), name)
        check_unused(name)
        module.write(file, options.text)
        print(f"wrote {file}")
        print(f"print its runs and their time: {commands.pe_lab('sweep', str(file), '--dry-run')}")
        print(f"train them: {commands.pe_lab('sweep', str(file))}")
        return 0
    member, test = write(Path(), family, name, options.kind or KINDS[0])
    print(f"wrote {member}\nwrote {test}")
    if is_checkout(Path(), family):
        laws = commands.python("-m", "pytest", f"tests/{family}", "-k", name, "-m", "not full")
        print(f"run its laws: {laws}")
        print(f"rebuild the pages: {commands.python('-m', 'docs.build')}")
        return 0
    plugin = f"{name}:{_class_name(name)}"
    if family in ("encodings", "positions"):
        print(f"run its laws: {commands.pe_lab('laws', family, plugin)}")
    print(f"run its test: {commands.python('-m', 'pytest', str(test))}")
    if family == "metrics":
        print(f'measure it by an entry point of pe_lab.metrics: {name} = "{plugin}"')
    else:
        print(f'a config names it: dict(name="{plugin}")')
    if family == "encodings":
        print(f"compare it: {commands.pe_lab('suite', plugin, '--quick')}")
    return 0


def check_name(name: str, suffix: str) -> None:
    """Raise a UserError if a name cannot be the name of a module."""
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise UserError(f"{name!r} cannot name a Python module; take a name such as my_{suffix}.")


def check_unused(name: str) -> None:
    """Raise a UserError if a module has the name: it would hide the new one, or be hidden."""
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.origin is not None:  # a folder without code hides nothing
        raise UserError(f"An installed module is named {name}; take another name.")


def is_checkout(folder: Path, family: str) -> bool:
    """Whether a folder is the top folder of a checkout, which has the members of the family."""
    return (folder / "pe_lab" / family).is_dir()


def write(root: Path, family: str, name: str, kind: str) -> list[Path]:
    """Write a member and its test below `root`; return both paths, relative to `root`.

    Raises:
      UserError: the name is taken or cannot be the name of a module.
    """
    check_name(name, TEMPLATE_OF[family])
    in_checkout = is_checkout(root, family)
    member = Path("pe_lab", family, f"{name}.py") if in_checkout else Path(f"{name}.py")
    test = Path("tests", family, f"test_{name}.py") if in_checkout else Path(f"test_{name}.py")
    for file in (member, test):
        if (root / file).exists():
            raise UserError(f"{file} exists; take another name.")
    if not in_checkout:
        check_unused(name)
    template = TEMPLATE_OF[family]
    if family == "encodings":
        template += f"_{kind}"
    values = {
        "name": name,
        "module": f"pe_lab.{family}.{name}" if in_checkout else name,
        "Class": _class_name(name),
        "label": name.replace("_", " "),
    }
    for file, source in ((member, template), (test, f"test_{template}")):
        text = (TEMPLATES / f"{source}.txt").read_text(encoding="utf-8")
        files.write_text(root / file, string.Template(text).substitute(values))
    return [member, test]


def _class_name(name: str) -> str:
    """Return the name in CamelCase."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))
