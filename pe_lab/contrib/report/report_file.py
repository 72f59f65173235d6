"""report.html: an interactive page of a study, in one file that needs no network.

page.html.jinja has its structure, page.css its style, page.js its behavior, data.py its data.
Vega draws the chart, from a copy inside the page and without eval. Names come from configs, so
Jinja escapes them, and the script writes them as text only.
"""

import base64
import gzip
import importlib
from pathlib import Path
from typing import Any

import jinja2

from pe_lab.contrib.report import against as _against
from pe_lab.contrib.report import data, images, study_file
from pe_lab.contrib.report.html_table import as_html
from pe_lab.results import formats, selection, tables
from pe_lab.results.plots import plotted as plotted_study
from pe_lab.results.study import Study
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.studies import study_files
from pe_lab.runs.system import files

HERE = Path(__file__).parent
_VEGA = "window.vegaEmbed = vegaEmbed;"


def write(
    study: Study, folder: Path, against: Study | None = None, note: str | None = None
) -> Path:
    """Write folder/report.html.

    Args:
      against: another study. A table compares the variants that both studies have.
      note: a sentence for the header.

    Raises:
      UserError: no run has finished, or vl-convert-python is not installed.
    """
    if not study.variants["finished"].any():
        raise UserError(f"{study.name} has no finished run to report: see pe-lab status.")
    vega = _vl_convert().javascript_bundle(_VEGA)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "separators": (",", ":"),
        "allow_nan": False,
    }
    plotted = plotted_study.of(study)
    study_tables = tables.of(study)
    shown_tables = study_tables
    if against is not None:
        chosen = selection.choose(study), selection.choose(against)
        shown_tables = [*_against.tables(*chosen), *study_tables]
    run_records = records_of(study, folder)
    as_trained = study.cases[study.cases["evaluation"] == 0]
    variants = dict(zip(as_trained["run_id"], as_trained["variant"], strict=True))
    unfinished = [record for record in run_records if record["status"] != "finished"]
    page = environment.get_template("page.html.jinja").render(
        results=study,
        note=note,
        counts=data.counts(study),
        num_variants=len(plotted.study.variants),
        vega=vega,
        style=(HERE / "page.css").read_text(encoding="utf-8"),
        script=(HERE / "page.js").read_text(encoding="utf-8"),
        downloads=_downloads(study, study_tables, folder, run_records),
        data=data.of(plotted, run_records),
        images=images.of(plotted),
        tables=[(table.title, as_html(table)) for table in shown_tables],
        problems=[(variants[record["run_id"]], record) for record in unfinished],
        against=against,
    )
    path = folder / "report.html"
    files.write_text(path, page)
    return path


def records_of(study: Study, folder: Path) -> list[JsonObject]:
    """Return the record of each run of a study without its rows, in the order of the study.

    The page has the settings, the curve and the provenance of each run, which no frame has.
    """
    by_id = {record["run_id"]: {**record, "rows": []} for record in records.each(folder)}
    run_ids = [run_id for name in study.trained.index for run_id in study.cases_of(name)["run_id"]]
    return [by_id[run_id] for run_id in dict.fromkeys(run_ids)]


def _downloads(
    study: Study,
    study_tables: list[formats.Table],
    folder: Path,
    run_records: list[JsonObject],
) -> dict[str, str]:
    """Return each file that the page offers, by file name: its text in gzip and base64."""
    file = study_files.read(folder)
    texts = {
        "table.csv": tables.as_csv(study),
        "table.tex": tables.latex(study, study_tables),
        f"{study.name}.py": study_file.source(file, run_records, study.missing),
    }
    packed = {name: gzip.compress(text.encode(), mtime=0) for name, text in texts.items()}
    return {name: base64.b64encode(content).decode() for name, content in packed.items()}


def _vl_convert() -> Any:
    try:
        return importlib.import_module("vl_convert")
    except ImportError as e:
        command = "pip install 'pe_lab[report]'"
        raise UserError(f"The report needs vl-convert-python: {command}.") from e
