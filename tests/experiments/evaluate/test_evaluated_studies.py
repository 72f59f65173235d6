"""`pe-lab evaluate` as a user runs it: in this process, and once in one of its own."""

import os
import signal
import subprocess
import sys
import time

import pytest

from pe_lab.runs.records import records
from pe_lab.runs.system import locks
from tests.experiments.entry_points import ROOT
from tests.record_values import files


def rows_of(folder, seed):
    (found,) = (r["rows"] for r in records.read_all(folder).values() if r["member"]["seed"] == seed)
    return {(r["length"], r["offset"], r["override"] and r["override"]["label"]) for r in found}


def table(out):
    """Variant -> its run groups, of the table that was printed."""
    block = next(part for part in out.split("\n\n") if part.startswith("| variant"))
    return {
        groups[0]: groups[1:]
        for groups in (
            [c.strip() for c in line.strip("|").split("|")] for line in block.splitlines()
        )
    }


@pytest.mark.slow
def test_rows_are_added_and_the_tables_show_what_was_evaluated_with_what(call, folder):
    status, out, err = call(
        str(folder),
        "--lengths=3,6",
        "--offsets=0,9",
        "--encodings=rope(scaling=linear, factor=2)",
    )
    assert (status, err) == (0, "")
    assert out.startswith(
        "1 of 1 run groups: rope, 2 runs measured at 4 evaluation points\n2 runs have new rows\n"
    )
    new = {(n, offset, "rope(scaling=linear, factor=2)") for n in (3, 6) for offset in (0, 9)}
    assert rows_of(folder, 0) == rows_of(folder, 1) == {(n, 0, None) for n in (2, 3, 5)} | new
    shown = table(out)
    assert list(shown["variant"]) == ["extrapolates", "solved", "2§", "3§", "→5", "→6"]
    rope, scaled = (
        shown["rope(base=500.0)"],
        shown["rope(base=500.0), evaluated with rope(scaling=linear, factor=2)"],
    )
    assert [group == "–" for group in rope[2:]] == [False, False, False, True]
    assert [group == "–" for group in scaled[2:]] == [True, False, True, False]
    page = (folder / "table.md").read_text()
    having = [
        part.partition("\n")[0]
        for part in page.split("\n## ")
        if "| rope(base=500.0), evaluated with rope(" in part
    ]
    assert (
        sum("positions shifted by 9" in title for title in having) == 4
    )  # medians and means of two metrics, and every seed
    assert (
        "rope(base=500.0), evaluated with rope(scaling=linear, factor=2)"
        in (folder / "table.csv").read_text()
    )


@pytest.mark.slow
def test_what_is_there_is_refused_or_passed_over(call, folder):
    before = files(folder)
    status, out, err = call(str(folder), "--lengths=2,5")
    assert (status, out) == (2, "")
    assert err.startswith("error: The run ")
    assert err.endswith(
        " has measured test length 2 at offset 0 already, on 16 examples: nothing is overwritten. "
        "With --only-missing, evaluate passes over such points.\n"
    )
    status, out, err = call(str(folder), "--lengths=2,5", "--only_missing")
    assert (status, err) == (0, "")
    assert out.startswith("nothing to do: every run has all of these rows\n")
    assert "rope(base=500.0)" in table(out)
    assert files(folder) == before


@pytest.mark.full
def test_a_study_is_found_by_its_name_and_its_runs_by_what_is_selected(call, folder, monkeypatch):
    monkeypatch.chdir(folder.parents[1])
    status, out, _ = call(
        "fake",
        "--lengths=6",
        "--select=model.encodings=rope",
        "--select=seed=1",
        "--select=train.criterion=None",
    )
    assert status == 0
    assert "1 runs have new rows" in out
    assert rows_of(folder, 1) - rows_of(folder, 0) == {(6, 0, None)}


@pytest.mark.full
def test_positions_that_tell_the_length_and_no_encoding_at_all_are_changes_too(call, folder):
    status, out, _ = call(str(folder), "--lengths=3", "--positions=normalized")
    assert status == 0
    assert "rope(base=500.0), evaluated with normalized †" in table(out)
    assert "rope(base=500.0)" in table(out)
    status, out, _ = call(
        str(folder), "--lengths=3", "--encodings=none", "--positions=shifted(max_shift=2)"
    )
    assert status == 0
    assert "rope(base=500.0), evaluated with none at shifted(max_shift=2)" in table(out)


@pytest.mark.slow
def test_loops_and_temperature_are_overrides_too(call, folder):
    status, out, _ = call(str(folder), "--lengths=3", "--num_loops=2", "--logit_temperature=log_n")
    assert status == 0
    assert "rope(base=500.0), evaluated with num_loops=2, logit_temperature=log_n" in table(out)


@pytest.mark.full
def test_a_reader_that_has_seen_enough_is_no_error(folder):
    """As with `| head`: the output is cut off, the tables are written, and no error is printed."""
    command = [
        sys.executable,
        "-m",
        "pe_lab",
        "evaluate",
        str(folder),
        "--lengths=3",
        "--only_missing",
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        run.stdout.close()
        said = run.stderr.read()
    assert (run.returncode, said) == (0, b"")
    assert (folder / "exact_match.png").exists()


def test_help_says_what_it_does_and_lists_the_flags(call):
    status, out, err = call("--help")
    assert (status, err) == (0, "")
    assert "\nAdds evaluations to the finished runs of a study" in out
    for flag in ("lengths", "offsets", "positions", "encodings", "select", "only-missing"):
        assert f"\n  --{flag} " in out


@pytest.mark.full
def test_sigterm_during_an_evaluation_ends_with_status_130_and_keeps_records(folder):
    """Threads of JAX that evaluate at this moment must not crash the process at its end."""
    before = files(folder)
    (group_file,) = (folder / "groups").glob("*.json")
    offsets = ",".join(map(str, range(1, 3000)))  # more than it can measure before the signal
    command = [sys.executable, "-m", "pe_lab", "evaluate", str(folder)]
    with subprocess.Popen(
        [*command, "--lengths=4,6", f"--offsets={offsets}"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not locks.is_held(group_file.with_suffix(".lock")):
            assert process.poll() is None
            time.sleep(0.1)
        time.sleep(3)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert errors.startswith("stopped; what is finished is kept")
    assert files(folder) == before
