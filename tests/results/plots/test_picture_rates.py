"""Pictures show learning rates, counts and the rate that was chosen."""

import pytest

from pe_lab.results.plots import styles
from pe_lab.runs.records import record_rows
from tests.results.fake_study import point, record, two_variants, write_study
from tests.results.plots.figures import caption, legend, panels, xy
from tests.results.plots.small_studies import colors, many, medians, small

NLL = "negative_log_likelihood"


def test_the_rate_that_validation_chooses_has_a_circle(drawn, tmp_path):
    folder = small(tmp_path, encodings=("rope",), rates=("0.001", "0.003"))
    within, beyond = panels(drawn(folder)["learning_rate"])
    for axis in (within, beyond):
        (circle,) = [line for line in axis.lines if line.get_markersize() == 9]
        assert list(circle.get_xdata()) == [0.003]  # 0.001 reaches 0.995 only
    assert within.get_title() == "up to the training length"
    assert beyond.get_title() == "at 2× the training length"
    assert within.get_xscale() == "log"


def test_each_task_has_axes_of_the_learning_rate_with_the_same_looks(drawn, tmp_path):
    folder = small(tmp_path, rates=("0.001", "0.003"), tasks=("reverse", "copy"))
    figure = drawn(folder)["learning_rate"]
    axes = panels(figure)
    titles = [axis.get_title().splitlines()[0] for axis in axes]
    assert titles == ["reverse", "reverse", "copy", "copy"]
    assert legend(figure) == ["RoPE", "ALiBi"]
    assert [colors(axis) for axis in axes] == [list(styles.PALETTE[:2])] * 4


def test_the_chosen_rate_has_a_circle_when_it_has_more_seeds(drawn, tmp_path):
    """The other rate has the first seed alone."""
    entries = []
    for rate, seed in (("0.001", 0), ("0.003", 0), ("0.001", 1)):
        run = record(f"{rate}{seed}", seed, test={4: 1.0}, validation={4: 1.0})
        loss = 100 * float(rate)
        run["rows"].append(record_rows.row("validation", 4, 0, NLL, loss, 100))
        entries.append((point("rope", seed, **{"train.learning_rate": rate}), run))
    within, _ = panels(drawn(write_study(tmp_path, *entries))["learning_rate"])
    assert [xy(line) for line in within.lines if line.get_markersize() == 9] == [([0.001], [1.0])]


def test_a_rate_is_hollow_if_none_of_its_seeds_is_solved(drawn, tmp_path):
    entries = []
    for rate, solved in (("0.001", (1.0, 0.0)), ("0.003", (0.0, 0.0))):
        for seed, value in enumerate(solved):
            run = record(f"{rate}{seed}", seed, test={4: value}, validation={4: value})
            entries.append((point("rope", seed, **{"train.learning_rate": rate}), run))
    figure = drawn(write_study(tmp_path, *entries))["learning_rate"]
    for axis in panels(figure):
        (hollow,) = [line for line in axis.lines if line.get_markerfacecolor() == "white"]
        assert list(hollow.get_xdata()) == [0.003]


def test_a_sign_in_the_picture_of_rates_is_explained(drawn, tmp_path):
    entries = []
    for rate in ("0.001", "0.003"):
        run = record(rate, test={4: 1.0}, validation={4: 1.0}, reveals=True)
        entries.append((point("rope", 0, **{"train.learning_rate": rate}), run))
    names = legend(drawn(write_study(tmp_path, *entries))["learning_rate"])
    assert names == ["RoPE †", "† reveals the target length"]


def test_other_pictures_show_the_chosen_rates_only(drawn, tmp_path):
    analysis = {"tuned": ["train.learning_rate"]}
    folder = small(tmp_path, encodings=("rope",), rates=("0.001", "0.003"), analysis=analysis)
    figures = drawn(folder)
    for name in ("exact_match", "training"):
        assert len(medians(figures[name].axes[0])) == 1


def test_counts_have_the_interval_of_wilson(drawn, tmp_path):
    solved, extrapolates = drawn(two_variants(tmp_path))["extrapolation"].axes
    # A run that failed has no outcome.
    assert [t.get_text() for t in solved.texts] == ["1/3", "0/1"]
    assert list(solved.lines[0].get_xdata()) == pytest.approx([0.0615, 0.7923], abs=1e-4)
    assert [t.get_text() for t in extrapolates.texts] == ["0/3", "0/1"]
    assert (solved.get_title(), extrapolates.get_title()) == ("Solved", "Extrapolates")
    words = "Extrapolates: solved, with an exact match of at least 0.9 at 2× the training length."
    assert caption(solved.figure) == f"Bars are Wilson's 95 % intervals. {words}"


@pytest.mark.parametrize("status", ["failed", "diverged"])
def test_a_variant_of_which_no_run_has_finished_has_a_row_in_the_counts(drawn, tmp_path, status):
    finished = point("rope", 0), record("a", 0, test={4: 1.0, 8: 1.0}, validation={4: 1.0})
    unfinished = point("alibi", 0), record("b", 0, status=status)
    figures = drawn(write_study(tmp_path, finished, unfinished))
    labels = [label.get_text() for label in figures["extrapolation"].axes[0].get_yticklabels()]
    assert sorted(labels) == ["ALiBi", "RoPE"]


def test_a_test_within_the_training_lengths_is_not_called_extrapolation(drawn, tmp_path):
    analysis = {"extrapolation": {"at": 1}}
    figure = drawn(small(tmp_path, encodings=("rope",), analysis=analysis))["extrapolation"]
    assert figure.axes[1].get_title() == "Passes"
    assert "extrapolate" not in f"{figure.get_suptitle()} {caption(figure)}".lower()


@pytest.mark.slow
@pytest.mark.parametrize("count", [30, 31])
def test_counts_of_more_variants_than_a_page_has_rows_are_left_to_the_table(drawn, tmp_path, count):
    assert ("extrapolation" in drawn(many(tmp_path, count))) is (count == 30)
