"""The folders that Python searches for modules, in this process and in those that it starts.

`python -m pe_lab` runs it before all else, so it imports only what Python has imported already.
"""

import os
import sys


def put_standard_library_first() -> None:
    """Search the standard library before all other folders.

    `python -m` and PYTHONPATH put folders before it. A user's copy.py in such a folder would take
    the place of the standard library's `copy`, which JAX imports.
    """
    folder = os.path.dirname(os.__file__)
    standard = {folder, os.path.join(folder, "lib-dynload")}
    sys.path.sort(key=lambda entry: entry not in standard)  # the sort keeps the order of the rest


def variables() -> dict[str, str]:
    """The variables with which another Python process searches the same folders, in this order.

    The process is started with -P or PYTHONSAFEPATH: without one, `python -m` and `python -c`
    search the working directory first. The variable would reach the programs that it starts, too.
    """
    folders = [entry or os.getcwd() for entry in sys.path]  # "" is the working directory
    return {"PYTHONPATH": os.pathsep.join(folders)}
