"""What the suite prints and writes: new rows beside published ones, and the tables of all rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pe_lab.contrib.grids import comparison, suite_tables
from pe_lab.contrib.grids.suite_tables import SuiteProtocol
from pe_lab.results import formats
from pe_lab.results.latex import as_latex
from pe_lab.runs.studies.analysis_spec import AnalysisSpec


@dataclass(frozen=True)
class Page:
    """Tables as Markdown, with all remarks, and as LaTeX.

    Attributes:
      answer: remarks and the tables of new rows beside published ones; of all rows if none is new.
    """

    markdown: str
    latex: str
    answer: str


def page(
    published: pd.DataFrame,
    folders: Sequence[Path],
    protocol: SuiteProtocol,
    spec: AnalysisSpec,
    remark: str,
) -> Page:
    """Return the tables of the published rows and the rows in folders, with a remark before them.

    Raises:
      UserError: a folder holds no study, or a record is damaged.
    """
    rows = suite_tables.united(published, folders, protocol)
    parts = [remark, *rows.left_out]
    if rows.scores.empty:
        return Page("\n\n".join(parts), "", "\n\n".join(parts))
    tasks = tuple(protocol.configs)
    row_tables = suite_tables.tables(rows.scores, spec, tasks)
    all_parts = [*formats.sections(row_tables), formats.notes(row_tables)]
    runs = rows.scores.assign(name=suite_tables.names_with_signs(rows.scores))
    is_new = ~rows.scores["name"].isin(published["name"])
    new_parts: list[str] = []
    for name in runs["name"][is_new].unique():
        beside = comparison.table(runs, name, spec, tasks)
        sentence = comparison.sentence(runs, name, spec, tasks)
        new_parts += [*formats.sections([beside]), formats.notes([beside]), sentence]
        row_tables.append(beside)
    return Page(
        "\n\n".join([*parts, *all_parts, *new_parts]),
        "\n".join(as_latex(table, "suite") for table in row_tables),
        "\n\n".join([*parts, *(new_parts or all_parts)]),
    )
