"""Commands that pe_lab prints, as a user can paste them."""

import shlex
import sys
from pathlib import Path


def python(*arguments: str) -> str:
    """Return a command of the running interpreter, relative to the working directory below it.

    python("-m", "experiments.report", "--study=mine") is
    ".venv/bin/python -m experiments.report --study=mine" in a checkout with a virtual environment.
    """
    interpreter = Path(sys.executable)
    # Not resolved: an interpreter of a virtual environment is a link to one without its packages.
    if interpreter.is_relative_to(Path.cwd()):
        interpreter = interpreter.relative_to(Path.cwd())
    return shlex.join([str(interpreter), *arguments])
