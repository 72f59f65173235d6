"""The config that the report page offers for download has the runs of the study."""

import pytest

from pe_lab.sweeps import study
from tests.contrib.report.small_pages import ROOT, downloaded
from tests.experiments.entry_points import call
from tests.marks import full

PUBLISHED = ROOT / "results" / "published"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["quickstart", "context_extension", full("architectures"), full("combine")]
)
def test_the_downloaded_config_has_the_same_runs(name, tmp_path):
    module, entries = downloaded(PUBLISHED / name, tmp_path)
    again = study.expand(name, module.get_config().to_dict(), module.sweep(), tmp_path)
    assert [(_shown(entry.labels), entry.run.run_id) for entry in again.entries] == [
        (_shown(labels), run_id) for labels, run_id in entries
    ]


def _shown(labels):
    """The labels of an entry; settings that differ without a label may be there, too."""
    return {axis: text for axis, text in labels.items() if text}


@pytest.mark.slow
def test_a_sweep_with_the_downloaded_config_has_nothing_to_train(tmp_path):
    """The records that it was written from are its runs."""
    folder = PUBLISHED / "quickstart"
    downloaded(folder, tmp_path)
    file = (tmp_path / "again.py").rename(tmp_path / "quickstart.py")  # the name of its study
    done = call("sweep", f"--config={file}", f"--results={folder}", "--dry_run")
    assert (done.returncode, done.stderr) == (0, "")
    assert "39 runs, 39 of them done" in done.stdout
