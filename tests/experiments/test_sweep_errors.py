"""A sweep names failing runs, another study in its folder and code that has changed."""

import pytest

from pe_lab.runs.records import records
from tests.experiments.entry_points import call, refused
from tests.experiments.swept_studies import STUDY
from tests.results.fake_study import point, record, write_study


@pytest.mark.slow
@pytest.mark.parametrize("dry", [["--dry_run"], []])
def test_another_study_in_the_same_folder_is_refused(tmp_path, dry):
    folder = write_study(tmp_path / "mine", (point("rope", 0), record("r0")), name="mine")
    before = (folder / "study.json").read_text()
    sentence = refused("sweep", "--config=configs/smoke.py", f"--results={folder}", *dry)
    assert sentence == (
        f"{folder} holds the study 'mine': give another folder for 'smoke', --results=FOLDER."
    )
    assert (folder / "study.json").read_text() == before


FAILS = '''
import jax.numpy as jnp
from pe_lab.encodings.base import AttentionEncoding
class Fails(AttentionEncoding):
    """Builds, and fails when it is first called."""
    def bias(self, Q, K):
        raise RuntimeError("no bias today")
'''


@pytest.mark.slow
def test_a_failing_run_is_recorded_and_the_others_finish(tmp_path):
    (tmp_path / "failing.py").write_text(FAILS)
    (tmp_path / "study.py").write_text(STUDY)
    arguments = [f"--config={tmp_path / 'study.py'}", f"--results={tmp_path / 'out'}"]
    done = call("sweep", *arguments, path=[tmp_path])
    assert done.returncode == 1, done.stderr
    by_status = {r["status"]: r for r in records.read_all(tmp_path / "out").values()}
    assert sorted(by_status) == ["failed", "finished"]
    assert by_status["failed"]["error"] == "RuntimeError: no bias today"
    (log,) = (path for path in (tmp_path / "out" / "logs").iterdir() if path.read_text())
    assert "no bias today" in log.read_text()
    failed = f"failed: {by_status['failed']['run_id']}: RuntimeError: no bias today; see {log}"
    assert done.stderr.splitlines() == [failed]
    assert "0/1 not solved, 1 failed" in (tmp_path / "out" / "table.md").read_text()


@pytest.mark.slow
def test_results_of_code_that_has_changed_since_are_named(tmp_path):
    """The settings are the same, so the runs are done; that their file is another one is said."""
    (tmp_path / "failing.py").write_text(
        FAILS.replace('raise RuntimeError("no bias today")', "return None")
    )
    (tmp_path / "study.py").write_text(STUDY)
    arguments = [f"--config={tmp_path / 'study.py'}", f"--results={tmp_path / 'out'}"]

    def said():
        return call("sweep", *arguments, path=[tmp_path])

    assert "changed since" not in said().stdout
    with (tmp_path / "failing.py").open("a") as file:
        file.write("# another file now\n")
    note = "note: 1 run was trained with other code: encodings/failing:Fails changed since"
    assert f"{note}; to train again, give another --results\n" in said().stdout
