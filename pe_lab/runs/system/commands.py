"""Commands that pe_lab prints, as a user can paste them."""

import shlex
import shutil
import sys
from pathlib import Path


def python(*arguments: str) -> str:
    """Return a command of the running interpreter, relative to the working directory below it.

    python("-m", "docs.build", "--check") is ".venv/bin/python -m docs.build --check" in a checkout
    with a virtual environment.
    """
    interpreter = Path(sys.executable)
    # Not resolved: an interpreter of a virtual environment is a link to one without its packages.
    if interpreter.is_relative_to(Path.cwd()):
        interpreter = interpreter.relative_to(Path.cwd())
    return shlex.join([str(interpreter), *arguments])


def pe_lab(*arguments: str) -> str:
    """Return a command of pe_lab: "pe-lab report mine" if the shell finds pe-lab.

    Otherwise it is the command of the running interpreter, "python -m pe_lab report mine".
    """
    script = shutil.which("pe-lab")
    if script and Path(script).parent == Path(sys.executable).parent:
        return shlex.join(["pe-lab", *arguments])
    return python("-m", "pe_lab", *arguments)
