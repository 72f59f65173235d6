import re
from pathlib import Path

import pytest

from docs.build import catalog, costs, encodings
from pe_lab.contrib.inspection.scorecard import Row
from pe_lab.runs.plugins import plugins
from pe_lab.runs.records import records

NUMBERS = {
    "colliding pairs": 2,
    "nearer is more similar": 0.5,
    "decay stops at": 3,
    "largest step / random pair": 1.5,
}
ROWS = {
    "mine": Row("mine(a=1)", "embedding", NUMBERS),
    "silent": Row("silent", None, {}, "it adds nothing"),
}


def test_every_encoding_has_its_row_of_the_scorecard_with_a_link():
    section = encodings._section(ROWS)
    assert "| [mine](../pe_lab/encodings/mine.py)     | no 2   |" in section
    assert "\n- – silent: it adds nothing." in section


def test_an_encoding_is_measured_with_its_defaults_or_with_what_it_needs():
    assert catalog.untrained("rope").name == "rope"
    assert catalog.untrained("sliding_window").name == "sliding_window(size=16)"
    assert encodings.measure("chunks")["kind"] == "bias"


@pytest.mark.slow
def test_a_picture_is_small(tmp_path):
    encodings.draw("alibi", tmp_path)
    assert (tmp_path / "alibi.png").stat().st_size < 40_000


def test_the_facts_of_an_encoding_come_from_its_class():
    assert catalog.facts("learned") == {
        "acts in": "input",
        "relative": "no",
        "defined in": "all",
        "parameters": "32,768",
    }


def test_the_tables_have_four_columns_and_the_name_leads_to_the_file():
    lines = catalog.encoding_tables()["input"].splitlines()
    assert lines[0] == "| encoding | equation | beyond training | source |"
    paper = "[1705.03122](https://arxiv.org/abs/1705.03122)"
    link = "[learned](../pe_lab/encodings/learned.py)"
    row = f"| {link} | embedding = table[p] | undefined: rejected | {paper} |"
    assert row in lines


def test_the_symbols_of_values_are_in_the_notation():
    symbols, _ = Path("docs/encodings.md").read_text().split("## Requirements at a glance")
    assert "| q, k, v; y | the query, key and value of a token;" in symbols


def test_a_line_of_the_page_holds_for_all_arguments():
    (row,) = (row for row in catalog.encoding_tables()["terms"].splitlines() if "[self_ex" in row)
    assert "| distances shrink by G, or end at w |" in row


def test_the_layers_of_published_models_are_those_of_the_study():
    lines = encodings.hybrid_table().splitlines()
    models = [line.split("|")[1].strip() for line in lines[2:]]
    assert models == ["SmolLM3", "Command R7B"]
    rotated, window = "`rope(layers=(0, 1, 2))`", "`sliding_window(size=17, layers=(0, 1, 2))`"
    assert lines[-1] == f"| Command R7B | {rotated}, {window} |"


def test_the_ratio_of_input_encodings_to_tokens_is_measured():
    cells = [line.split("|") for line in catalog.start_table().splitlines()[2:]]
    ratios = {name.strip(): float(rms) for _, name, rms, _ in cells}
    inputs = [n for n in plugins.names("encodings") if catalog._section(n) == "input"]
    assert list(ratios) == [f"`{name}`" for name in inputs]
    assert ratios["`learned`"] == pytest.approx(0.02, rel=0.05)
    assert ratios["`sinusoidal`"] == ratios["`sinusoidal_2d`"] == 0.71  # the root of 1 / 2
    assert ratios["`raw_index`"] > 10


@pytest.mark.parametrize(
    ("name", "section", "acts_in", "relative", "defined_in"),
    [
        ("nope", "biases", "nothing", "yes; reads no positions", "all"),
        ("mixed_rope", "rotations", "transform_qk", "yes, 2 axes", "all"),
        ("shaw", "terms", "content_bias", "yes", "all"),  # without vectors for values
        ("rotary_value", "rotations", "transform_qk, combine", "yes", "all"),
        ("xsa", "terms", "combine", "yes; reads no positions", "causal, bidirectional"),
        ("fire", "biases", "bias", "no", "causal, bidirectional"),
        ("stick_breaking", "terms", "mask, normalize", "yes; reads no positions", "causal"),
    ],
)
def test_hooks_and_requirements_are_shown(name, section, acts_in, relative, defined_in):
    assert catalog._section(name) == section
    facts = catalog.facts(name)
    shown = [facts[key] for key in ("acts in", "relative", "defined in")]
    assert shown == [acts_in, relative, defined_in]


def test_a_scheme_has_its_position_its_draws_and_its_source():
    paper = "[2109.05644](https://arxiv.org/abs/2109.05644)"
    link = "[shifted](../pe_lab/positions/shifted.py)"
    assert catalog._scheme_row("shifted") == [link, "t + U{0..max_shift}", "in training", paper]
    assert catalog._scheme_row("packed")[2:] == ["never", "–"]


def test_an_encoding_without_a_measurement_has_dashes(tmp_path):
    records.write_json(tmp_path / encodings.SCORECARD, {})
    row = encodings.rows(tmp_path)["rope"]
    assert (row.numbers, row.reason) == ({}, "it is not measured yet")
    assert "| [rope](" in encodings._section({"rope": row})


def test_an_encoding_has_the_step_times_of_its_variant(tmp_path):
    pairs = [("nope", 1.0), ("rope(a=1)", 1.5), ("nope", 1.0), ("rope(a=1)", 1.25)]
    figures = [{"label": label, "times_first": time} for label, time in pairs]
    records.write_json(tmp_path / costs.COSTS, figures)
    assert catalog.step_times(tmp_path) == {"nope": "1.00 / 1.00", "rope": "1.50 / 1.25"}


def test_requirements_at_a_glance_are_those_that_the_encodings_declare():
    lines = catalog.requirement_table().splitlines()
    row = {title.strip(): names for _, title, names, _ in (line.split("|") for line in lines)}
    assert "`cope`" in row["causal attention only"]
    assert "`rope`" not in row["causal attention only"]
    assert "`sinusoidal`" not in row["self-attention only, causal or not"]
    assert "`t5_bias`" in row["whole positions: schemes with fractions are rejected"]
    (size,) = [names for title, names in row.items() if title.startswith("a size")]
    assert "`learned` (512)" in size
    relative = row["relative: a shift of all positions changes nothing"]
    declared = [
        name
        for name in plugins.names("encodings")
        if plugins.find("encodings", name).requirements.relative
    ]
    assert set(declared) <= set(re.findall(r"`(\w+)`", relative))
