"""Numbers of published tables, recomputed without pe_lab.results."""

import shutil

import pytest

from experiments import recompute

STUDY = recompute.PUBLISHED / "huang25_literature"


def test_every_number_of_a_published_table_follows_from_its_records():
    outcomes = [kind for kind, _ in recompute.compare(STUDY)]
    assert outcomes.count("equal") > 1000
    assert "differs" not in outcomes


@pytest.mark.parametrize("column", ["run 1", "mean", "sd", "median", "interquartile_mean", "runs"])
def test_a_changed_number_is_found(column, tmp_path):
    folder = tmp_path / "study"
    shutil.copytree(STUDY, folder)
    header, first, rest = (folder / "table.csv").read_text().split("\n", 2)
    cells = first.split(",")
    place = header.split(",").index(column)
    cells[place] = str(float(cells[place] or 0) + 1e-6)
    (folder / "table.csv").write_text("\n".join([header, ",".join(cells), rest]))
    (what,) = [what for kind, what in recompute.compare(folder) if kind == "differs"]
    assert f": {column}: " in what
