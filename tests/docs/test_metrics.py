from pathlib import Path

from docs.build import metrics
from pe_lab.metrics import base


def rows(table):
    lines = table.splitlines()[2:]  # below the header
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name.strip("`"): meaning for name, meaning in cells}


def test_each_metric_has_one_row_in_the_table_of_its_kind():
    lookups = metrics.lookups(Path())
    measured, computed = rows(lookups["measured_metrics"]), rows(lookups["computed_metrics"])
    assert sorted([*measured, *computed]) == sorted(base.by_name())
    assert {"exact_match", "token_accuracy"} <= set(measured)
    assert {"L90", "steps_to_solve"} <= set(computed)


def test_a_meaning_is_the_first_sentence_of_the_metrics_file():
    table = rows(metrics.lookups(Path())["computed_metrics"])
    assert table["steps"] == "Number of training steps"
