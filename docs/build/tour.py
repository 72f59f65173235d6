"""docs/tour.ipynb: its cells run in a fresh kernel, in a folder where nothing has run before. Needs
nbclient and ipykernel.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

from pe_lab.runs.errors import UserError

TOUR = Path("docs/tour.ipynb")
_PARTS = ("pe_lab", "configs")  # of the checkout, that the notebook finds in the folder
_KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
_QUIET = ["--log-level=ERROR"]  # of what it has to say of its ports
_LIMIT = 600  # seconds that a cell may take


def executed(root: Path) -> Any:
    """The notebook below `root` with its outputs, and nothing that tells one run from the next.

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
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))
    }
    with tempfile.TemporaryDirectory() as folder:
        for part in _PARTS:
            (Path(folder) / part).symlink_to((root / part).absolute())
        how: dict[str, Any] = dict(
            record_timing=False, coalesce_streams=True, extra_arguments=_QUIET, timeout=_LIMIT
        )
        client = NotebookClient(notebook, resources={"metadata": {"path": folder}}, **how)
        client.execute(env=env | {"PYTHONPATH": folder})
    notebook.metadata = {"kernelspec": _KERNEL, "language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell["id"], cell["metadata"] = f"{number:02d}", {}
    return notebook


def write(root: Path) -> None:
    """Runs the notebook and writes it in place."""
    notebook = executed(root)
    import nbformat  # it is there, or the line above has said so

    nbformat.write(notebook, root / TOUR)
