"""report.html: an interactive page of a study, in one file that needs no network.

page.html.jinja has its structure, page.css its style, page.js its behavior, data.py its data.
Vega draws the chart, from a copy inside the page and without eval. Names come from configs, so
Jinja escapes them, and the script writes them as text only.
"""

import importlib
from pathlib import Path
from typing import Any

import jinja2

from pe_lab.results import formats, selection, tables
from pe_lab.results.plots import study_data
from pe_lab.results.report import against as _against
from pe_lab.results.report import data, images, study_file
from pe_lab.results.results import Results
from pe_lab.runs import files, study_files
from pe_lab.runs.errors import UserError
from pe_lab.runs.record_schema import JsonObject

HERE = Path(__file__).parent
_VEGA = "window.vegaEmbed = vegaEmbed;"


def write(
    results: Results, folder: Path, against: Results | None = None, note: str | None = None
) -> Path:
    """Write folder/report.html.

    Args:
      against: another study. A table compares the variants that both studies have.
      note: a sentence for the header.

    Raises:
      UserError: no run has finished, or vl-convert-python is not installed.
    """
    if not results.finished:
        raise UserError(f"{results.name} has no finished run to report.")
    vega = _vl_convert().javascript_bundle(_VEGA)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "separators": (",", ":"),
        "allow_nan": False,
    }
    plotted = study_data.read(folder)
    study_tables = tables.of(results)
    shown_tables = [*_comparison(results, against), *study_tables]
    page = environment.get_template("page.html.jinja").render(
        results=results,
        note=note,
        counts=data.counts(results),
        num_variants=len(plotted.variants),
        vega=vega,
        style=(HERE / "page.css").read_text(encoding="utf-8"),
        script=(HERE / "page.js").read_text(encoding="utf-8"),
        downloads=_downloads(results, study_tables, folder),
        data=data.of(results, plotted),
        images=images.of(plotted),
        tables=[(table.title, formats.as_html(table)) for table in shown_tables],
        problems=_problems(results),
        against=against,
    )
    path = folder / "report.html"
    files.write_text(path, page)
    return path


def _comparison(results: Results, against: Results | None) -> list[formats.Table]:
    if against is None:
        return []
    return _against.tables(selection.chosen(results), selection.chosen(against))


def _problems(results: Results) -> list[tuple[str, JsonObject]]:
    """Return the runs that did not finish, each with its variant."""
    unfinished = [record for record in data.runs(results) if record["status"] != "finished"]
    return [(data.variant_of(results, record), record) for record in unfinished]


def _downloads(results: Results, study_tables: list[formats.Table], folder: Path) -> dict[str, str]:
    """Return the text of each file that the page offers, by file name."""
    _, entries = study_files.study_of(folder)
    return {
        "table.csv": tables.as_csv(results),
        "table.tex": tables.latex(results, study_tables),
        f"{results.name}.py": study_file.source(results, entries, study_files.analysis_of(folder)),
    }


def _vl_convert() -> Any:
    try:
        return importlib.import_module("vl_convert")
    except ImportError as e:
        command = "pip install 'pe_lab[report]'"
        raise UserError(f"The report needs vl-convert-python: {command}.") from e
