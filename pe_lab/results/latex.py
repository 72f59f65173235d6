"""A table as LaTeX (booktabs)."""

import re
from collections.abc import Iterable

from pe_lab.results import formats
from pe_lab.results.formats import Table

_TALL = 40  # rows on a page
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "→": r"$\rightarrow$",
        "≥": r"$\geq$",
        "≤": r"$\leq$",
        "×": r"$\times$",
        "τ": r"$\tau$",
        "±": r"$\pm$",
        "−": r"$-$",
        "·": r"$\cdot$",
        "–": "--",
        "—": "---",
        "†": r"\dag{}",
        "‡": r"\ddag{}",
        "§": r"\S{}",
        "…": r"\ldots{}",
        "∞": r"$\infty$",
    }
)


def as_latex(table: Table, document: str = "") -> str:
    r"""Return a booktabs table with caption and notes, for \input. A tall one is a longtable.

    Args:
      document: the start of its label for \ref, tab:DOCUMENT-TITLE; "": tab:TITLE.
    """
    columns = "l" + "r" * (len(table.header) - 1)
    # pandas escapes fewer characters, and takes seconds for a table of 1,000 rows.
    rows = [_row(cell.text for cell in row) for row in table.rows]
    header = _row(table.header)
    rules = [r"\toprule", header, r"\midrule", *rows, r"\bottomrule"]
    caption = rf"\caption{{{_prose(table.title)}. {_prose(table.caption)}}}"
    words = re.findall("[a-z0-9.]+", f"{document} {table.title}".lower())
    caption += rf"\label{{tab:{'-'.join(words)}}}"
    footnotes = " ".join(_prose(note) for note in table.notes)
    if len(table.rows) > _TALL:
        rules.insert(3, r"\endhead")  # below \toprule, the header and \midrule
        lines = [
            r"{\footnotesize",
            rf"\begin{{longtable}}{{{columns}}}",
            caption + r" \\",
            *rules,
            r"\end{longtable}",
            footnotes,
            "}",
        ]
    else:
        lines = [
            r"\begin{table}",
            r"\centering",
            caption,
            # A table that is wider than a line is scaled down to it.
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{columns}}}",
            *rules,
            r"\end{tabular}}",
            rf"\par\footnotesize {footnotes}",
            r"\end{table}",
        ]
    return "\n".join(line for line in lines if line) + "\n"


def _row(texts: Iterable[str]) -> str:
    cells = " & ".join(map(_latex, texts))
    # Behind the end of a row or a rule, TeX would read a bracket or a star as its argument.
    begin = "{}" if cells.startswith(("[", "*")) else ""
    return rf"{begin}{cells} \\"


def _prose(text: str) -> str:
    return formats.prose(text, _latex, begin=r"\emph{", end="}")


def _latex(text: str) -> str:
    one_line = re.sub(r"\s+", " ", text)
    # One pass, so that the backslashes of one replacement are not replaced again.
    return one_line.translate(_LATEX)
