"""Data of report pages of small studies."""

import importlib.util
from pathlib import Path

from pe_lab.contrib.report import data, report_file, study_file
from pe_lab.results import frame
from pe_lab.results.plots import plotted
from pe_lab.runs.records import records
from pe_lab.runs.studies import study_files

ROOT = Path(__file__).parents[3]


def page_data(folder):
    found = frame.read(folder)
    return data.of(plotted.of(found), report_file.records_of(found, folder))


def downloaded(folder, tmp_path):
    """The module of the downloaded config, and the entries of the study."""
    entries = study_files.read(folder).entries
    run_records = records.read_all(folder).values()
    file = tmp_path / "again.py"
    text = study_file.source(study_files.read(folder), run_records, 0)
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("again", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, entries
