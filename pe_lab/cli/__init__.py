"""The command line: `pe-lab COMMAND`, or `python -m pe_lab COMMAND`.

A command is a file of this folder and is found by its name. It has

    a docstring     its help; the first line is its line in the list of commands
    Options         a dataclass of its arguments (_arguments.py)
    run(options)    does the work and returns the exit status

A command imports what needs JAX inside `run`. Its help and the mistakes in its arguments then need
no JAX, whose import takes seconds.
"""

import importlib
import importlib.metadata
import platform
import sys
from types import ModuleType

import pe_lab
from pe_lab import import_path, parts
from pe_lab.cli import _docstrings, _exit
from pe_lab.cli._arguments import Parser
from pe_lab.runs.errors import described, unknown
from pe_lab.runs.system import jax_settings, terminal

_HELP = ("-h", "--help", "help")


def main(*command: str) -> None:
    """Run the command that the arguments name, or the one that is given, and exit with its status.

    main("sweep") is the entry point of one command.
    """
    import_path.order_folders()
    _exit.exit_with(lambda: run([*command, *sys.argv[1:]]))


def main_of(module: ModuleType, prog: str) -> None:
    """Run a module that is like a command but needs a checkout, such as experiments.publish."""
    import_path.order_folders()
    _exit.exit_with(lambda: _run_module(module, prog, sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command and return its status.

    Raises:
      UserError: there is no such command, or its arguments are wrong.
    """
    if not arguments or arguments[0] in _HELP:
        terminal.show(_overview())
        return 0
    name, *rest = arguments
    if name == "--version":
        print(_version())
        return 0
    path = parts.module("cli", name) if name in names() else None
    if path is None:
        raise unknown("pe-lab", name, names())
    return _run_module(importlib.import_module(path), f"pe-lab {name}", rest)


def _run_module(module: ModuleType, prog: str, arguments: list[str]) -> int:
    jax_settings.bind()  # before JAX is imported, and for the processes that a command starts
    options = Parser(prog, module.Options, module.__doc__).parse(arguments)
    status: int = module.run(options)
    return status


def names() -> list[str]:
    """Return the names of the commands: the public files of this folder and of parts."""
    return parts.names("cli")


def _overview() -> str:
    """Return the help of pe-lab: each command with a line. No command is imported."""
    files = {name: parts.file("cli", name) for name in names()}
    width = max(map(len, files))
    lines = [f"  {name:{width}}  {_docstrings.summary(file)}" for name, file in files.items()]
    return "\n".join(
        [
            f"pe_lab {pe_lab.__version__}: position-encoding ablations in JAX.",
            "",
            "    pe-lab COMMAND [ARGUMENTS]",
            "    pe-lab COMMAND --help",
            "    pe-lab sweep quickstart    # trains a first study, in 4 to 7 minutes",
            "",
            *lines,
        ]
    )


def _version() -> str:
    """Return the versions and the devices as text. Devices need JAX, whose import takes seconds."""
    version = importlib.metadata.version("jax")
    versions = f"pe_lab {pe_lab.__version__} (Python {platform.python_version()}, JAX {version})"
    try:
        import jax

        devices = ", ".join(map(str, jax.devices()))
    except Exception as e:  # whatever is wrong with the installation
        return f"{versions}\nJAX finds no device: {described(e)}"
    return f"{versions}\ndevices: {devices}"
