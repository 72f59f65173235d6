"""A write of the report that is interrupted, as by a full disk, leaves the earlier report."""

import pytest

from pe_lab.contrib.report import report_file
from pe_lab.results import frame
from tests.results.test_interrupted_writes import check_interrupted, small_study


def write_report(folder):
    pytest.importorskip("vl_convert")
    report_file.write(frame.read(folder), folder)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_an_interrupted_write_leaves_the_old_report(tmp_path, monkeypatch, where):
    check_interrupted(small_study(tmp_path), monkeypatch, write_report, where)
