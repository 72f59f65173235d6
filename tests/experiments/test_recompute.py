"""Numbers of published tables, recomputed without pe_lab.results."""

import math
import shutil

import pytest

from experiments import recompute

STUDY = recompute.PUBLISHED / "huang25_literature"


@pytest.mark.parametrize(("name", "least"), [("huang25_literature", 1000), ("real_text", 300)])
def test_every_number_of_a_published_table_follows_from_its_records(name, least):
    outcomes = [kind for kind, _ in recompute.compare(recompute.PUBLISHED / name)]
    assert outcomes.count("equal") > least
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


@pytest.mark.parametrize(
    ("align", "length", "losses", "nats"),
    [
        ("end", 4, [9.0, 9.0, 1.0, 3.0, 9.0], 2.0),  # the last value is that of an end token
        ("end", 8, [9.0] * 6 + [1.0, 3.0], 2.0),
        ("end", 2, [1.0, 3.0], None),  # shorter than the windows of the config
        ("start", 4, [1.0, 2.0, 3.0, 6.0, 9.0], 3.0),
        ("start", 4, [1.0, None, 3.0, 6.0], None),
    ],
)
def test_bits_per_byte_are_means_over_the_bytes_that_are_scored(align, length, losses, nats):
    config = {"task": {"align": align}, "evaluate": {"lengths": [8, 4]}}
    record = {"config": config, "exposure": None}
    bits = recompute._bits_per_byte({"length": length, "value": losses}, record)
    assert bits == (None if nats is None else pytest.approx(nats / math.log(2)))
    record["exposure"] = {"corpus_tokens": {}, "bytes_per_token": {"test": 4.0}}
    per_token = recompute._bits_per_byte({"length": length, "value": losses}, record)
    assert per_token == (None if nats is None else pytest.approx(bits / 4))
    record["exposure"]["bytes_per_token"] = None
    assert recompute._bits_per_byte({"length": length, "value": losses}, record) is None
