import pytest

from docs.build import commits, rounding
from docs.build.numbers import Numbers
from pe_lab.results import frame, tables
from pe_lab.runs.errors import UserError
from tests.results.fake_study import point, record, write_study
from tests.results.test_selection import tuned

SOLVED = {4: 1.0}


def study(folder, runs, **analysis):
    """Numbers of a study of runs {encoding: [exact match at length 8, one a seed]}.

    A tuple (list, dict) also gives further fields of the records.
    """
    entries = []
    for name, values in runs.items():
        values, more = values if isinstance(values, tuple) else (values, {})
        more = {"validation": SOLVED, **more}
        made = [
            (point(name, i), record(f"{name}{i}", i, test={4: 1.0, 8: v}, **more))
            for i, v in enumerate(values)
        ]
        entries += made
    return Numbers(write_study(folder, *entries, analysis=analysis))


def test_the_center_is_the_median_below_ten_seeds_and_that_of_the_table(tmp_path):
    found = study(tmp_path, {"rope": [0.0, 0.1, 0.8]})
    assert (found.center_name, found.center("rope", 8)) == ("median", "0.10")
    assert "| 0.10 |" in tables.markdown(frame.read(tmp_path))


def test_the_center_is_the_interquartile_mean_from_ten_seeds(tmp_path):
    """Ten values, two left out at each end: (0.2 + ... + 0.7) / 6."""
    found = study(tmp_path, {"rope": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0, 1.0]})
    assert (found.center_name, found.center("rope", 8)) == ("interquartile mean", "0.45")


def test_a_center_is_marked_where_nothing_is_solved_and_where_the_target_length_is_known(tmp_path):
    runs = {
        "rope": ([0.5], {"validation": {4: 0.5}}),
        "alibi": ([0.5], {"reveals": True}),
        "nope": [0.5],
    }
    found = study(tmp_path, runs)
    assert found.centers(["rope", "alibi", "nope"], 8) == r"0.50\*, 0.50† and 0.50"


def test_a_range_is_of_centers_and_one_number_where_they_are_equal(tmp_path):
    found = study(tmp_path, {"rope": [0.2, 0.9, 0.3], "alibi": [0.5], "nope": [0.1]})
    assert found.center_range(["rope", "alibi", "nope"], 8) == "0.10 to 0.50"
    assert found.center_range(["rope", "alibi"], 4) == "1.00"


def test_seeds_are_listed_in_their_order(tmp_path):
    found = study(tmp_path, {"rope": [0.2, 0.9, 0.3]})
    assert found.each_seed("rope", 8) == "0.20, 0.90 and 0.30"


def test_counts_are_summed_over_variants(tmp_path):
    found = study(tmp_path, {"rope": [0.95, 0.2], "alibi": ([0.95], {"validation": {4: 0.1}})})
    assert (found.solved("rope", "alibi"), found.extrapolates("rope", "alibi")) == (
        "2 of 3",
        "1 of 3",
    )
    assert found.others("rope") == ["alibi"]
    assert (found.runs, found.variants) == ("3", "2")


def test_a_setting_that_runs_do_not_share_is_an_error(tmp_path):
    found = study(tmp_path, {"rope": [0.5], "alibi": ([0.5], {"task": "sort"})})
    assert found.setting("task.name", "rope") == "copy"
    with pytest.raises(UserError, match=r"task\.name has 2 values, not one"):
        found.setting("task.name")


def test_lengths_and_offsets_are_measured_ones(tmp_path):
    found = study(tmp_path, {"rope": [0.5]})
    assert (found.length(8), found.offset(0)) == ("8", "0")
    with pytest.raises(UserError, match="lengths: has no '12'"):
        found.length(12)
    with pytest.raises(UserError, match="offsets: has no '3'"):
        found.offset(3)


def test_a_difference_is_that_of_a_declared_contrast(tmp_path):
    runs = {"rope": [0.9, 0.8, 0.7, 0.9, 0.8], "alibi": [0.4, 0.3, 0.2, 0.4, 0.3]}
    found = study(tmp_path, runs, contrasts=[["rope", "alibi"]])
    assert found.difference("rope", "alibi") == "+0.50 [+0.50, +0.50]"
    with pytest.raises(UserError, match="no contrast of alibi against rope"):
        found.difference("alibi", "rope")


def test_a_difference_is_read_at_the_length_that_a_page_names(tmp_path):
    runs = {"rope": [0.9, 0.8, 0.7, 0.9, 0.8], "alibi": [0.4, 0.3, 0.2, 0.4, 0.3]}
    pairs = [dict(a="rope", b="alibi", at=at) for at in (1, 2)]
    found = study(tmp_path, runs, contrasts=pairs)
    assert found.difference("rope", "alibi", 1) == "0.00 [0.00, 0.00]"
    assert found.difference("rope", "alibi", 2) == "+0.50 [+0.50, +0.50]"
    assert found.contrasts == "2"
    with pytest.raises(UserError, match="no contrast of rope against alibi"):
        found.difference("rope", "alibi", 3)


@pytest.mark.parametrize(
    ("seeds", "counts", "difference"),
    [
        (2, "2/2 against 0/2", "+0.95"),
        (5, "5/5 against 0/5 (p = 0.002)", "+0.95 [+0.95, +0.95]"),
        (6, "6/6 against 0/6 (p < 0.001)", "+0.95 [+0.95, +0.95] (p = 0.031)"),
    ],
)
def test_counts_and_differences_carry_the_p_of_their_own_test(tmp_path, seeds, counts, difference):
    """Barnard's and the sign-flip test: with five pairs, the second one cannot reach 0.05."""
    runs = {"rope": [0.95] * seeds, "alibi": [0.0] * seeds}
    found = study(tmp_path, runs, contrasts=[["rope", "alibi"]])
    assert found.counts("rope", "alibi") == counts
    assert found.difference("rope", "alibi") == difference


def test_shares_carry_wilsons_interval(tmp_path):
    """Of 2 of 3, by its formula: 0.21 to 0.94."""
    numbers = study(tmp_path, {"rope": [0.95, 0.95, 0.0]})
    assert numbers.share("rope") == "2 of 3 [0.21, 0.94]"


def test_a_lost_commit_is_marked_where_commits_are_named(tmp_path):
    found = study(tmp_path, {"rope": [0.5, 0.6, 0.7]})
    made = [commits.LOST[0], "a" * 40, "a" * 40]
    found.study.cases["commit"] = made
    assert found.commits == (
        f"2 runs at aaaaaaa and 1 run at {commits.LOST[0][:7]} (not in the history of this "
        f"repository)"
    )


def test_runs_that_two_studies_have_with_other_numbers_are_counted_with_the_largest_gap(tmp_path):
    """Seed 0 is equal, seed 1 differs by 0.123, seed 2 is in one study alone."""
    one = study(tmp_path / "one", {"rope": [0.5, 0.5, 0.5]})
    other = study(tmp_path / "other", {"rope": [0.5, 0.623]})
    assert (one.shared_runs(other), one.largest_gap(other)) == ("1", "0.13")


@pytest.mark.parametrize(
    ("number", "shown"), [(0.121, "0.13"), (0.12, "0.12"), (1.361, "1.37"), (0.0, "0.00")]
)
def test_an_upper_bound_is_rounded_up(number, shown):
    assert rounding.at_most(number, 2) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [(1.3152607607480604e-06, "2e-06"), (4.94e-07, "5e-07"), (9.5e-07, "1e-06"), (2e-06, "2e-06")],
)
def test_an_upper_bound_is_rounded_up_to_one_digit(number, shown):
    assert rounding.power_at_most(number) == shown


def test_tuned_settings_are_shown_on_the_seeds_that_all_of_them_have(tmp_path):
    losses_and_outcomes = {
        ("rope", "0.001"): [(0.1, 0.2), (0.1, 0.4), (0.1, 0.9)],  # chosen, with one seed more
        ("rope", "0.01"): [(0.2, 1.0), (0.2, 0.8)],
    }
    tuned(tmp_path, losses_and_outcomes)
    numbers = Numbers(tmp_path)
    assert numbers.chosen_setting("rope") == "0.001"
    assert numbers.center("rope", 8) == "0.40"
    assert numbers.by_setting("rope", 8) == "0.30 at 0.001 and 0.90 at 0.01"


def test_a_table_may_have_some_of_the_lengths(tmp_path):
    numbers = study(tmp_path, {"rope": [0.2, 0.9, 0.3]})
    header, _, row, *_ = numbers.table_at(8).splitlines()
    assert [name.strip() for name in header.split("|")[1:-1]] == [
        "variant",
        "extrapolates",
        "solved",
        "→8",
    ]
    assert row.split("|")[4].strip() == "0.30"
    with pytest.raises(UserError, match="5"):
        numbers.table_at(5)


def test_a_table_is_looked_up_by_its_title(tmp_path):
    table = dict(title="By length", rows="model.encodings", columns="length", metric="exact_match")
    numbers = study(tmp_path, {"rope": [0.2, 0.9, 0.3]}, tables=[table])
    row = numbers.table_titled("By length").splitlines()[2]
    assert [text.strip() for text in row.split("|")[1:-1]] == ["rope", "1.00", "0.30"]
    with pytest.raises(UserError, match="By length"):
        numbers.table_titled("By lengths")
