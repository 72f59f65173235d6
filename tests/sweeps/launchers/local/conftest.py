import sys

import pytest

from pe_lab.sweeps.launchers import local

# A worker whose run groups are programs.
SERVE = """
import runpy, sys
from pe_lab.training import worker

def run(program, folder, report):
    sys.argv = [str(program), str(folder)]
    try:
        runpy.run_path(str(program), {"report": report}, run_name="__main__")
    except SystemExit as e:
        return e.code
    return 0

worker.serve(run)
"""


@pytest.fixture
def launch(tmp_path, monkeypatch):
    """Launches run groups that are Python programs, in real processes: name -> program, to statuses
    and events.
    """
    serve = tmp_path / "serve.py"
    serve.write_text(SERVE, encoding="utf-8")
    stub = tmp_path / "python"
    stub.write_text(
        (
            f'#!/bin/sh\ntest "$1 $2" = "-m pe_lab.training.worker" && exec "{sys.executable}" '
            f'"{serve}"\n'
        ),
        encoding="utf-8",
    )
    stub.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stub))
    monkeypatch.delenv("XLA_FLAGS", raising=False)

    def call(programs, workers=1, on_event=None):
        events = []
        for name, program in programs.items():
            (tmp_path / f"{name}.json").write_text(program, encoding="utf-8")
        files = [tmp_path / f"{name}.json" for name in programs]
        statuses = local.Local(workers=workers).launch(
            files, tmp_path, on_event or (lambda group, event: events.append((group, event)))
        )
        return statuses, events

    return call
