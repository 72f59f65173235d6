"""An evaluation adds rows to the records of finished runs."""

import contextlib
import shutil

import pytest

from pe_lab.contrib.evaluation import measure
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.system import jax_settings, locks
from pe_lab.training import provenance
from tests.contrib.evaluation.requests import WORDS, ask, read
from tests.record_values import files

pytestmark = pytest.mark.slow  # all share a trained run
NLL = "negative_log_likelihood"


def new_rows(folder, trained):
    """What every run has gained."""
    before = read(trained)
    return {who: record["rows"][len(before[who]["rows"]) :] for who, record in read(folder).items()}


def values(rows, metric=NLL):
    return {(r["length"], r["offset"]): r["value"] for r in rows if r["metric"] == metric}


def test_only_lengths_below_those_of_the_config_are_measured(folder, trained):
    """The config's shortest length is 2; a shorter batch has a shape, too."""
    assert measure.add(folder, ask(1)) == 3
    assert all(values(rows) for rows in new_rows(folder, trained).values())


def test_a_label_stands_for_one_override(folder):
    def named(maximum):
        scheme = dict(name="randomized", maximum=maximum)
        return ask(4, select=WORDS[0], label="spread", positions=scheme)

    assert measure.add(folder, named(30)) == 2
    before = files(folder)
    with pytest.raises(UserError, match="another override that is called 'spread': give this one"):
        measure.add(folder, named(40))
    assert files(folder) == before


def test_runs_that_another_process_trains_or_evaluates_are_left_alone(folder):
    with contextlib.ExitStack() as stack:
        for file in (folder / "groups").glob("*.json"):
            stack.enter_context(locks.held(file.with_suffix(".lock")))
        before = files(folder)
        with pytest.raises(UserError, match=r"^Another process trains or evaluates the run"):
            evaluated(folder, ask(4))  # and leaves no mark
        assert files(folder) == before


def test_rows_that_another_process_adds_meanwhile_stay(folder, monkeypatch):
    """Length 6 is measured after the records were read and before they are written."""
    rows = measure.Evaluator.rows

    def slowly(self, params, points):
        monkeypatch.setattr(measure.Evaluator, "rows", rows)
        with monkeypatch.context() as patched:
            patched.setattr(measure.locks, "held", lambda file: contextlib.nullcontext(True))
            measure.add(folder, ask(6, select=WORDS[0]))
        return self.rows(params, points)

    monkeypatch.setattr(measure.Evaluator, "rows", slowly)
    measure.add(folder, ask(4, select=WORDS[0]))
    lengths = {row["length"] for row in read(folder)["rope", 0]["rows"]}
    assert {4, 6} <= lengths


def test_a_record_has_what_differed_in_each_process_that_added_rows(folder, monkeypatch):
    real = provenance.provenance

    def add(offset, **values):
        monkeypatch.setattr(provenance, "provenance", lambda run: {**real(run), **values})
        measure.add(folder, ask(4, offsets=(offset,), select=WORDS[0]))
        return read(folder)["rope", 0]["provenance"]

    settings = {**jax_settings.recorded(), "XLA_FLAGS": "--xla_other"}
    assert "evaluated" not in add(0)
    for offset in (1, 2):  # equal processes are named once
        (later,) = add(offset, jax_settings=settings)["evaluated"]
    assert later.pop("started")
    assert later == {"jax_settings": settings}
    assert len(add(3, versions={"jax": "1"})["evaluated"]) == 2


def test_no_lock_is_written_where_the_folder_of_groups_leads_elsewhere(folder, tmp_path):
    elsewhere = (folder / "groups").rename(tmp_path / "elsewhere")
    (folder / "groups").symlink_to(elsewhere)
    before = sorted(elsewhere.iterdir())
    with pytest.raises(UserError, match="groups is a link"):
        evaluated(folder, ask(4))
    assert sorted(elsewhere.iterdir()) == before


def test_every_run_gains_the_grid_and_what_was_there_is_bit_equal(trained, folder):
    said = []
    assert measure.add(folder, ask(4, 6, offsets=(0, 5)), said.append) == 3
    for who, after in read(folder).items():
        before = read(trained)[who]
        assert after["rows"][: len(before["rows"])] == before["rows"]
        assert {k: v for k, v in after.items() if k not in ("rows", "chance_levels", "digest")} == {
            k: v for k, v in before.items() if k not in ("rows", "chance_levels", "digest")
        }
        assert after["chance_levels"][:3] == before["chance_levels"]
        assert [f["length"] for f in after["chance_levels"]] == [2, 3, 5, 4, 6]
    for rows in new_rows(folder, trained).values():
        exact = [
            (r["split"], r["length"], r["offset"], r["override"])
            for r in rows
            if r["metric"] == "exact_match"
        ]
        assert exact == [("test", n, offset, None) for n in (4, 6) for offset in (0, 5)]
    rope, table = (new_rows(folder, trained)[who] for who in (("rope", 0), ("learned", 0)))
    assert {r["count"] for r in rope} == {16}
    assert [(r["length"], r["offset"], r["reason"]) for r in table if r["value"] is None] == [
        (4, 5, "learned has positions 0..12; length 4 asks for position 14"),
        (6, 0, "learned has positions 0..12; length 6 asks for position 13"),
        (6, 5, "learned has positions 0..12; length 6 asks for position 18"),
    ]
    assert [line.split(": ")[0] for line in said] == ["1 of 2 run groups", "2 of 2 run groups"]
    assert {line.split(": ")[1] for line in said} == {
        "rope, 2 runs measured at 4 evaluation points",
        "learned, 1 runs measured at 4 evaluation points",
    }


@pytest.mark.full
def test_a_measurement_that_was_interrupted_goes_on_to_the_same_numbers(trained, folder):
    """One of the two records of a run group has not been written."""
    record = read(folder)["rope", 1]
    kept = [r for r in record["rows"] if r["length"] != 5]
    assert len(record["rows"]) - len(kept) == 6
    records.write(folder, {**record, "rows": kept})
    missing = files(folder)
    with pytest.raises(UserError, match="nothing is overwritten"):
        measure.add(folder, ask(5))
    assert files(folder) == missing
    assert measure.add(folder, ask(3, 5, only_missing=True)) == 1
    assert files(folder) == files(trained)


def test_nothing_is_left_to_do_where_all_is_measured(trained, folder, monkeypatch):
    monkeypatch.setattr(measure, "load_state", None)
    assert measure.add(folder, ask(2, 3, 5, only_missing=True)) == 0
    assert files(folder) == files(trained)


@pytest.mark.full
def test_a_place_asked_for_twice_is_measured_once(trained, folder):
    measure.add(folder, ask(4, 4, offsets=(0, 0), select=WORDS[0]))
    assert len(new_rows(folder, trained)["rope", 0]) == 6


def test_a_selection_says_which_runs_are_meant(trained, folder):
    select = dict(seed="1", model=dict(encodings=(dict(name="rope", base=500),)))
    assert measure.add(folder, ask(4, select=select)) == 1
    assert {who: len(rows) for who, rows in new_rows(folder, trained).items()} == {
        ("rope", 0): 0,
        ("rope", 1): 6,
        ("learned", 0): 0,
    }
    both = shutil.copytree(trained, folder.parent / "both")
    measure.add(both, ask(4, select=WORDS[0]))
    assert new_rows(both, trained)["rope", 1] == new_rows(folder, trained)["rope", 1]


@pytest.mark.full
def test_the_overridden_run_is_measured_with_the_arguments_that_the_override_leaves_open(
    trained, folder
):
    """Slowed down a thousand million times, RoPE rotates nothing."""
    half = dict(name="rope", scaling="linear", factor=2.0)
    for spec in (half, {**half, "factor": 1e9}):
        measure.add(folder, ask(3, encodings=(spec,), select=WORDS[0]))
    measure.add(folder, ask(3, 4, offsets=(0, 7), encodings=(), select=WORDS[0]))
    rows = new_rows(folder, trained)["rope", 0]
    by_label = {}
    for row in rows:
        by_label.setdefault(row["override"]["label"], []).append(row)
    scaled, slow, removed = map(values, by_label.values())
    as_trained = values(read(trained)["rope", 0]["rows"])
    assert len({measured[3, 0] for measured in (as_trained, scaled, slow)}) == 3
    assert abs(slow[3, 0] - removed[3, 0]) < 1e-5 < abs(scaled[3, 0] - removed[3, 0])
    # Without an encoding nothing reads positions.
    assert (removed[3, 0], removed[4, 0]) == (removed[3, 7], removed[4, 7])

    (encoding,) = rows[0]["override"]["encodings"]
    assert (encoding["base"], encoding["factor"], encoding["layers"]) == (500.0, 2.0, None)
    assert rows[-1]["override"] == {
        "label": "none",
        "positions": None,
        "encodings": [],
        "is_complete": True,
        "reveals_target_length": False,
    }
    again = dict(name="rope", scaling="linear", factor=2, base=500)
    sentence = r"measured test length 3 at offset 0 with rope\(scaling=linear, factor=2, base=500\)"
    with pytest.raises(UserError, match=f"{sentence} already"):
        measure.add(folder, ask(3, encodings=(again,), select=WORDS[0]))


@pytest.mark.full
def test_other_positions_that_tell_the_length_mark_their_rows(trained, folder):
    measure.add(folder, ask(4, positions=dict(name="normalized"), select=WORDS[0]))
    measure.add(folder, ask(4, positions=dict(name="shifted", max_shift=3), select=WORDS[0]))
    rows = new_rows(folder, trained)["rope", 0]
    by_label = {row["override"]["label"]: row["override"] for row in rows}
    parts = {label: (o["positions"], o["reveals_target_length"]) for label, o in by_label.items()}
    assert parts == {
        "normalized": ({"name": "normalized"}, True),
        "shifted(max_shift=3)": ({"name": "shifted", "max_shift": 3}, False),
    }
    assert not any(record["exposure"]["reveals_target_length"] for record in read(folder).values())


def evaluated(folder, request, kill_after=None, killed_by=KeyboardInterrupt):
    """What `pe-lab evaluate` does; the number of runs with new rows."""
    with measure.continued(folder, request) as (continued, begin):
        if kill_after is not None:
            measure.add(folder, kill_after, begin=begin)
            raise killed_by
        return measure.add(folder, continued, begin=begin)


@pytest.mark.parametrize("error", [KeyboardInterrupt, UserError])
def test_the_same_request_goes_on_after_a_kill_or_an_error_between_two_groups(folder, error):
    with pytest.raises(error):
        evaluated(folder, ask(4, 6), kill_after=ask(4), killed_by=error)
    with pytest.raises(UserError, match="has measured test length 4"):
        evaluated(folder, ask(4, 5))  # another request
    assert evaluated(folder, ask(4, 6)) == 3
    assert not (folder / "progress").exists()
    with pytest.raises(UserError, match="has measured test length 4"):
        evaluated(folder, ask(4, 6))
    assert not (folder / "progress").exists()


@pytest.mark.parametrize("end", [None, UserError, KeyboardInterrupt])
def test_a_request_for_what_is_missing_permits_nothing_to_later_ones(folder, end):
    measure.add(folder, ask(4))
    if end is None:  # it is refused
        refused = ask(4, only_missing=True, select=dict(sed=0)), ask(4, select=dict(sed=0))
        for request in refused:
            with pytest.raises(UserError, match="select has no 'sed'"):
                evaluated(folder, request)
    else:
        request = ask(4, only_missing=True)
        with pytest.raises(end):
            evaluated(folder, request, kill_after=request, killed_by=end)
    assert not (folder / "progress").exists()
    with pytest.raises(UserError, match="has measured test length 4"):
        evaluated(folder, ask(4))
