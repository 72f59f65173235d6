import pytest

from pe_lab.sweeps.launchers import local
from tests.sweeps.launchers.local import programs


@pytest.fixture
def launch(tmp_path, monkeypatch):
    """Launches run groups that are Python programs, in real processes: name -> program, to statuses
    and events.
    """
    monkeypatch.setattr(local, "TRAIN", programs.run)
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
