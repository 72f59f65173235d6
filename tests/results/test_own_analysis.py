"""Tables and plots of a number of one's own: names are checked, and gaps are no failures."""

import pandas as pd
import pytest
from matplotlib import pyplot

from pe_lab.results import declared_tables, formats, frame, selection, standard_tables, summary
from pe_lab.results.formats import Cell
from pe_lab.results.latex import as_latex
from pe_lab.results.plots import styles
from pe_lab.results.plots.intervals import intervals
from pe_lab.results.plots.lines import lines
from pe_lab.runs.errors import UserError
from pe_lab.runs.studies.analysis_spec import MetricSpec, TableSpec
from tests.results import fake_study

RUNS = pd.DataFrame(
    dict(variant=["rope"] * 3, status="finished", value=[True, None, False], length=8)
)


@pytest.fixture
def two_variants(tmp_path):
    return frame.read(fake_study.two_variants(tmp_path))


def test_a_table_of_facts_has_the_names_and_a_dash_for_a_variant_without_one(two_variants):
    facts = {"fact": {"rope": Cell("1")}}
    table = standard_tables.write(two_variants, TableSpec("My number"), facts=facts)
    assert table.header == ("variant", "fact")
    assert fake_study.texts(table) == {"rope": ["1"], "alibi": ["–"]}
    assert table.notes == (standard_tables.notes.SIGNS["–"],)
    assert r"\label{tab:my-number}" in as_latex(table)
    assert formats.sections([table])[0] == "## My number"


def test_a_missing_value_is_no_failure_and_no_success():
    assert RUNS["value"].dtype == object
    cell = summary.summarize(RUNS, ["variant"], show="count").of("rope")
    assert (cell.text.partition(" ")[0], cell.count) == ("1/2", 2)
    assert summary.summarize(RUNS, ["variant"], show="mean").center.at["rope", ""] == 0.5


MISTAKES = [
    (
        lambda study: summary.summarize(RUNS, ["variant"], show="wilson"),
        "show has no 'wilson'. It has: best, count, iqm, mean, median, seeds, solved.",
    ),
    (
        lambda study: summary.summarize(RUNS, ["variant"], show="solved"),
        "show='solved' reads no value; show='count' counts the values that are 1.",
    ),
    (
        lambda study: MetricSpec("exact_match", show="count"),
        "show of a metric has no 'count'. It has: best, iqm, mean, median, seeds.",
    ),
    (
        lambda study: summary.summarize(RUNS, ["variants"]),
        "The frame has no 'variants'. Did you mean 'variant'?",
    ),
    (
        lambda study: summary.summarize(RUNS.drop(columns="variant"), ["length"]),
        "The frame has no 'variant'.",
    ),
    (
        lambda study: summary.values_at(study, study.cases, "exact_mach"),
        "The list of metrics has no 'exact_mach'. Did you mean 'exact_match'?",
    ),
    (
        lambda study: standard_tables.write(study, TableSpec(measures=(MetricSpec("l90"),))),
        "The list of metrics has no 'l90'. Did you mean 'L90'?",
    ),
    (
        lambda study: declared_tables.tables(study, TableSpec(rows=("encodings",))),
        "The study has no 'encodings'. Did you mean 'model.encodings'?",
    ),
    (
        lambda study: lines(study.numbers, order=["rope", "alibbi"]),
        "The column 'variant' has no 'alibbi'. Did you mean 'alibi'?",
    ),
    (
        lambda study: lines(study.numbers, order=["ropes"], centers=pd.DataFrame({"rope": [1.0]})),
        "The column 'variant' has no 'ropes'. Did you mean 'rope'?",
    ),
    (
        lambda study: lines(study.numbers, y="values"),
        "The frame has no 'values'. Did you mean 'value'?",
    ),
    (
        lambda study: intervals(study.variants, successes="solved", total="run"),
        "The frame has no 'run'. Did you mean 'runs'?",
    ),
    (
        lambda study: selection.choose(study, ["model.encoding"]),
        "The study has no 'model.encoding'. Did you mean 'model.encodings'?",
    ),
]


@pytest.mark.parametrize(("mistake", "sentence"), MISTAKES)
def test_a_misspelled_name_is_one_sentence_with_near_names(two_variants, mistake, sentence):
    with pytest.raises(UserError) as error:
        mistake(two_variants)
    assert str(error.value).startswith(sentence)


def test_lines_without_a_look_or_a_label_get_free_ones(two_variants):
    tests = two_variants.numbers.query("split == 'test' and metric == 'exact_match'")
    looks = styles.assign([["rope"]])
    labels = {"rope": "RoPE"}
    axes = lines(tests, order=["rope", "alibi"], looks=looks, labels=labels)
    handles, names = axes.get_legend_handles_labels()
    pyplot.close("all")
    assert names == ["RoPE", "alibi"]
    assert [handle.get_color() for handle in handles] == list(styles.PALETTE[:2])
