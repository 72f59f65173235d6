import csv
import io
import re
import shutil
import subprocess

import pandas as pd
import pytest

from pe_lab.results import formats, frame, tables
from pe_lab.results.formats import Cell, Table
from pe_lab.results.latex import as_latex
from tests.results import synthetic

TABLE = Table(
    "By length",
    "Of *solved* runs & more.",
    ("variant", "→8"),
    ((Cell("a|b <i>"), Cell("0.50", 1 / 2)), (Cell("c_1"), Cell("–"))),
    ("–: none.",),
)


def test_markdown_lines_up_as_text_and_keeps_its_columns():
    assert (
        formats.markdown(TABLE) == "| variant     | →8   |\n|-------------|------|\n"
        "| a\\|b &lt;i> | 0.50 |\n| c_1         | –    |"
    )


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (None, "–"),
        (0.00099, "< 0.001"),
        (0.001, "0.001"),
        (0.0994, "0.099"),
        (0.1, "0.10"),
        (1.0, "1.00"),
    ],
)
def test_a_small_p_value_has_three_digits(p, shown):
    assert formats.p_value(p) == shown


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)>"),
        ("\\<script>", "\\&lt;script>"),
        ("<!-- a", "&lt;!-- a"),
        ("costs $1 or $2", "costs &#36;1 or &#36;2"),
        ("<javascript:alert(1)>", "&lt;javascript:alert(1)>"),
        ("[a](javascript:alert(1))", "[a]&#40;javascript:alert(1))"),
        ("![a](http://x/y.png)", "![a]&#40;http://x/y.png)"),
        ("0.50 [0.1, 0.9]", "0.50 [0.1, 0.9]"),
        ("p < 0.05, a <b, 3<4", "p < 0.05, a &lt;b, 3<4"),
        ("rope(base=5e5) (edge)", "rope(base=5e5) (edge)"),
    ],
)
def test_a_label_is_no_markup(label, shown):
    text = formats.markdown(Table("T", "", ("v",), ((Cell(label),),)))
    assert text.splitlines()[-1] == f"| {shown} |"


@pytest.mark.parametrize(
    ("label", "cell"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+1+cmd", "'+1+cmd"),
        ("-1+cmd", "'-1+cmd"),
        ("@SUM(1)", "'@SUM(1)"),
        ("\t=1", "'\t=1"),
        ("-0.5", "-0.5"),
        ("+3", "+3"),
        ("-1e-05", "-1e-05"),
        ("rope", "rope"),
    ],
)
def test_no_cell_of_a_csv_begins_a_formula(label, cell):
    text = formats.csv_text(pd.DataFrame({"v": [label], label: [-1.5]}))
    assert list(csv.reader(io.StringIO(text))) == [["v", cell], [cell, "-1.5"]]


def test_latex_has_rules_and_escapes_what_it_would_read_as_its_own():
    assert as_latex(TABLE, "my study") == (
        "\\begin{table}\n\\centering\n\\caption{By length. Of \\emph{solved} runs \\& more.}"
        "\\label{tab:my-study-by-length}\n"
        "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
        "\\begin{tabular}{lr}\n\\toprule\n"
        "variant & $\\rightarrow$8 \\\\\n\\midrule\n"
        "a\\textbar{}b \\textless{}i\\textgreater{} & 0.50 \\\\\nc\\_1 & -- \\\\\n\\bottomrule\n"
        "\\end{tabular}}\n\\par\\footnotesize --: none.\n\\end{table}\n"
    )


def test_a_tall_table_of_latex_breaks_over_pages():
    text = as_latex(Table("T", "", ("v",), ((Cell("a"),),) * 41), "study")
    assert text.startswith("{\\footnotesize\n\\begin{longtable}{l}\n\\caption{T. }")
    assert text.count("\\endhead") == 1


@pytest.mark.parametrize("name", ["[0, 1]", "*"])
def test_a_name_is_no_argument_of_the_rule_above_it(name):
    text = as_latex(Table("T", "", (name, "v"), ((Cell(name), Cell("1")),) * 2))
    assert text.count(f"\n{{}}{name} & ") == 3
    assert f"\n{name}" not in text


@pytest.mark.latex
def test_all_tables_of_a_study_compile(tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip(
            "pdflatex is not installed: "
            "apt-get install texlive-latex-base texlive-latex-recommended"
        )
    table = {
        "title": r"#_%&{}\~^$<>|",
        "rows": "task",
        "columns": ["model.encodings", "positions"],
        "metric": "extrapolates",
    }
    analysis = {
        "tuned": ["train.learning_rate"],
        "oracle": "A & B 100 %",
        "contrasts": [["rope", "alibi"], ["contiguous", "shifted"]],
        "tables": [table],
    }
    found = frame.read(synthetic.write(tmp_path / "study", seeds=3, analysis=analysis))
    tables.write(found, tmp_path)
    document = (
        r"\documentclass{article}\usepackage{booktabs, graphicx, longtable}"
        r"\begin{document}\input{table.tex}\end{document}"
    )
    (tmp_path / "main.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
    log = (tmp_path / "main.log").read_text(errors="replace")
    assert int(re.search(r"Output written on main\.pdf \((\d+) pages", log)[1]) > 5
    assert "Missing character" not in log


@pytest.mark.parametrize(
    ("text", "emphasized"),
    [
        ("*solved*: all", "<solved>: all"),
        ("of *two words*.", "of <two words>."),
        ("a*b*c, 2 * 3 * 4, **x**", "a*b*c, 2 * 3 * 4, **x**"),
    ],
)
def test_stars_inside_the_names_of_users_are_no_emphasis(text, emphasized):
    assert formats.prose(text, str, "<", ">") == emphasized
