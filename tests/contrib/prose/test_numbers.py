"""The numbers of a study as text."""

import pytest

from pe_lab.contrib.prose.numbers import Prose
from pe_lab.results import frame, tables
from pe_lab.runs.errors import UserError
from tests.results import contrasts, test_text_study
from tests.results.test_selection import tuned


def study(folder, runs, **analysis):
    """Texts of a study of runs {encoding: [exact match at length 8, one a seed]}.

    A tuple (list, dict) also gives further fields of the records.
    """
    return Prose(contrasts.study(folder, runs, **{"contrasts": (), **analysis}))


def test_the_center_is_the_median_below_ten_seeds_and_that_of_the_table(tmp_path):
    prose = study(tmp_path, {"rope": [0.0, 0.1, 0.8]})
    assert (prose.center_name, prose.center("rope", 8)) == ("median", "0.10")
    assert "| 0.10 |" in tables.markdown(prose.study)


def test_the_center_is_the_interquartile_mean_from_ten_seeds(tmp_path):
    """Ten values, two left out at each end: (0.2 + ... + 0.7) / 6."""
    prose = study(tmp_path, {"rope": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0, 1.0]})
    assert (prose.center_name, prose.center("rope", 8)) == ("interquartile mean", "0.45")


def test_a_center_is_marked_where_nothing_is_solved_and_where_the_target_length_is_known(tmp_path):
    runs = {
        "rope": ([0.5], {"validation": {4: 0.5}}),
        "alibi": ([0.5], {"reveals": True}),
        "nope": [0.5],
    }
    prose = study(tmp_path, runs)
    assert prose.centers(["rope", "alibi", "nope"], 8) == r"0.50\*, 0.50† and 0.50"


def test_a_range_is_of_centers_and_one_number_where_they_are_equal(tmp_path):
    prose = study(tmp_path, {"rope": [0.2, 0.9, 0.3], "alibi": [0.5], "nope": [0.1]})
    assert prose.center_range(["rope", "alibi", "nope"], 8) == "0.10 to 0.50"
    assert prose.center_range(["rope", "alibi"], 4) == "1.00"


def test_seeds_are_listed_in_their_order(tmp_path):
    prose = study(tmp_path, {"rope": [0.2, 0.9, 0.3]})
    assert prose.each_seed("rope", 8) == "0.20, 0.90 and 0.30"


def test_a_length_without_a_number_is_an_error(tmp_path):
    prose = study(tmp_path, {"rope": [0.2, 0.9]})
    for number in (prose.center, prose.each_seed):
        with pytest.raises(UserError, match="rope has no number at length 12"):
            number("rope", 12)
    prose = Prose(test_text_study.tuned(tmp_path / "tuned"))
    with pytest.raises(UserError, match="rope has no number at length 12"):
        prose.by_setting("rope", 12)


def test_counts_are_summed_over_variants_and_unsolved_seeds_do_not_extrapolate(tmp_path):
    prose = study(tmp_path, {"rope": [0.95, 0.2], "alibi": ([0.95], {"validation": {4: 0.1}})})
    assert prose.solved("rope", "alibi") == "2 of 3"
    assert prose.extrapolates("rope", "alibi") == "1 of 3"
    assert prose.others("rope") == ["alibi"]
    assert (prose.runs, prose.variants) == ("3", "2")


def test_a_whole_number_is_one_that_all_runs_of_a_variant_have(tmp_path):
    prose = study(tmp_path, {"rope": [0.5, 0.6]})
    prose.study.cases["parameters"] = [12345, 12345]
    assert prose.setting("parameters", "rope") == "12,345"
    prose.study.cases["parameters"] = [12345, 1]
    with pytest.raises(UserError, match="parameters has 2 values, not one"):
        Prose(prose.study).setting("parameters", "rope")


def test_a_setting_that_runs_do_not_share_is_an_error(tmp_path):
    prose = study(tmp_path, {"rope": [0.5], "alibi": ([0.5], {"task": "sort"})})
    assert prose.setting("task.name", "rope") == "copy"
    with pytest.raises(UserError, match=r"task\.name has 2 values, not one"):
        prose.setting("task.name")


def test_lengths_and_offsets_are_measured_ones(tmp_path):
    prose = study(tmp_path, {"rope": [0.5]})
    assert (prose.length(8), prose.offset(0)) == ("8", "0")
    with pytest.raises(UserError, match="lengths: has no '12'"):
        prose.length(12)
    with pytest.raises(UserError, match="offsets: has no '3'"):
        prose.offset(3)


def test_a_difference_is_that_of_a_declared_contrast_at_the_length_that_a_page_names(tmp_path):
    runs = {"rope": [0.9, 0.8, 0.7, 0.9, 0.8], "alibi": [0.4, 0.3, 0.2, 0.4, 0.3]}
    pairs = [dict(a="rope", b="alibi", at=at) for at in (1, 2)]
    prose = study(tmp_path, runs, contrasts=pairs)
    assert prose.difference("rope", "alibi", 1) == "0.00 [0.00, 0.00]"
    assert prose.difference("rope", "alibi", 2) == "+0.50 [+0.50, +0.50]"
    assert prose.difference("rope", "alibi") == prose.difference("rope", "alibi", 2)
    assert prose.contrasts == "2"
    for a, b, at in (("rope", "alibi", 3), ("alibi", "rope", None)):
        with pytest.raises(UserError, match=f"no contrast of {a} against {b}"):
            prose.difference(a, b, at)


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
    prose = study(tmp_path, runs, contrasts=[["rope", "alibi"]])
    assert prose.counts("rope", "alibi") == counts
    assert prose.difference("rope", "alibi") == difference


def test_shares_carry_wilsons_interval(tmp_path):
    """Of 2 of 3, by its formula: 0.21 to 0.94."""
    prose = study(tmp_path, {"rope": [0.95, 0.95, 0.0]})
    assert prose.share("rope") == "2 of 3 [0.21, 0.94]"


def test_tuned_settings_are_shown_on_the_seeds_that_all_of_them_have(tmp_path):
    losses_and_outcomes = {
        ("rope", "0.001"): [(0.1, 0.2), (0.1, 0.4), (0.1, 0.9)],  # chosen, with one seed more
        ("rope", "0.01"): [(0.2, 1.0), (0.2, 0.8)],
    }
    prose = Prose(tuned(tmp_path, losses_and_outcomes))
    assert prose.center("rope", 8) == "0.40"
    assert prose.by_setting("rope", 8) == "0.30 at 0.001 and 0.90 at 0.01"
    with pytest.raises(UserError, match=r"has no tuned settings of 'ropee'\.$"):
        prose.by_setting("ropee", 8)


def table_cells(text):
    lines = [line for line in text.splitlines() if not line.startswith("|--")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_table_may_have_some_of_the_lengths(tmp_path):
    prose = study(tmp_path, {"rope": [0.2, 0.9, 0.3]})
    header, rope = table_cells(prose.table(8))[:2]
    assert header == ["variant", "extrapolates", "solved", "→8"]
    assert rope[3] == "0.30"
    with pytest.raises(UserError, match="5"):
        prose.table(5)


def test_a_table_is_looked_up_by_its_title(tmp_path):
    table = dict(title="By length", rows="model.encodings", columns="length", metric="exact_match")
    prose = study(tmp_path, {"rope": [0.2, 0.9, 0.3]}, tables=[table])
    assert table_cells(prose.table_titled("By length"))[1] == ["rope", "1.00", "0.30"]
    with pytest.raises(UserError, match="By length"):
        prose.table_titled("By lengths")


def test_the_numbers_of_a_text_are_its_bits(tmp_path):
    prose = Prose(frame.read(test_text_study.folder_of(tmp_path)))
    assert prose.centers(["rope", "alibi"], 32) == "3.000 and 1.900"
    assert prose.each_seed("alibi", 32) == "1.900 and 1.900"
    for count in (prose.solved, prose.extrapolates, prose.share):
        with pytest.raises(UserError, match="fake is of a text, which has nothing to solve"):
            count("rope")


def test_the_numbers_of_a_tuned_text_are_its_bits_at_each_setting(tmp_path):
    prose = Prose(test_text_study.tuned(tmp_path))
    assert prose.by_setting("alibi", 32) == "1.900 at 0.1 and 2.400 at 0.2"
