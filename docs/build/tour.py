"""Execution of docs/tour.ipynb in a fresh kernel and an empty folder.

It needs nbclient and ipykernel.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

from pe_lab.runs.errors import UserError

TOUR = Path("docs/tour.ipynb")
_PACKAGES = ("pe_lab",)  # linked into the folder, for the notebook to import
_KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
_QUIET = ["--log-level=ERROR"]  # the kernel otherwise logs its ports
_LIMIT = 600  # seconds per cell


def executed(root: Path) -> Any:
    """Run the notebook of a checkout and return it with its outputs.

    Metadata that differs between two runs is removed.

    Raises:
      UserError: nbclient is not installed.
      nbclient.exceptions.CellExecutionError: a cell raises.
    """
    try:
        import nbformat
        from nbclient import NotebookClient
    except ImportError as e:
        command = ".venv/bin/pip install nbclient ipykernel"
        raise UserError(f"The tour needs a kernel to run in: {command}.") from e
    notebook = nbformat.read(root / TOUR, as_version=4)
    environment = {}
    for name, value in os.environ.items():
        if not name.startswith(("JAX_", "XLA_")):
            environment[name] = value
    with tempfile.TemporaryDirectory() as folder:
        for package in _PACKAGES:
            (Path(folder) / package).symlink_to((root / package).absolute())
        environment["PYTHONPATH"] = folder
        client = NotebookClient(
            notebook,
            resources={"metadata": {"path": folder}},
            record_timing=False,
            coalesce_streams=True,
            extra_arguments=_QUIET,
            timeout=_LIMIT,
        )
        client.execute(env=environment)
    notebook.metadata = {"kernelspec": _KERNEL, "language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"{number:02d}"
        cell["metadata"] = {}
    return notebook


def write(root: Path) -> None:
    """Run the notebook and write its outputs into it."""
    notebook = executed(root)
    import nbformat  # `executed` has checked that it is installed

    nbformat.write(notebook, root / TOUR)
