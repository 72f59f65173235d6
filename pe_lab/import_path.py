"""The folders that Python searches for modules, in this process and in those that it starts.

`python -m pe_lab` runs it before all else, so it imports only what Python has imported already.
"""

import os
import sys

# The folder of pe_lab. It keeps its place, because another pe_lab may be installed.
_CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def order_folders() -> None:
    """Search the standard library first, and the current folder last.

    `python -m` and PYTHONPATH put folders before the others. A user's copy.py or jax.py in such a
    folder would take the place of a module that JAX or pe_lab imports. A script and `python -P` do
    not search the current folder, where classes of a user are found.
    """
    folder = os.path.dirname(os.__file__)
    standard = {folder, os.path.join(folder, "lib-dynload")}
    try:
        current = os.getcwd()
    except FileNotFoundError:
        print("error: The current folder is gone. Go to another one.", file=sys.stderr)
        sys.exit(2)
    if current not in sys.path:
        sys.path.append(current)

    def place(entry: str) -> int:
        if entry in standard:
            return 0
        return 2 if entry in ("", current) and current != _CHECKOUT else 1

    sys.path.sort(key=place)  # which keeps the order of the rest


def variables() -> dict[str, str]:
    """The variables with which another Python process searches the same folders, in this order.

    The process is started with -P or PYTHONSAFEPATH: without one, `python -m` and `python -c`
    search the working directory first. The variable would reach the programs that it starts, too.
    """
    folders = [entry or os.getcwd() for entry in sys.path]  # "" is the working directory
    return {"PYTHONPATH": os.pathsep.join(folders)}
