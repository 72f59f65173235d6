"""The table of encodings that train at every learning rate, from scores and from folders."""

import pytest

from pe_lab.results import frame, read_analysis_spec, suite, suite_grid
from tests.results.fake_study import write_study
from tests.results.test_setting_tables import LOSSES, RATES, entry
from tests.results.test_suite import config, settings

ANALYSIS = {"tuned": ["train.learning_rate"]}
SPEC = read_analysis_spec.from_dict(ANALYSIS)
# The published study has a rate more than the row of a user.
PUBLISHED = {"shaw": (0.95, 1.0, 1.0, 0.0), "rope": (0.0, 0.1, 0.0, 1.0)}
MINE = {"mine": (0.0, 0.2, 0.95)}


def write(folder, rows, *, seeds=4, missing=(), name="suite_quick", steps=100, **more):
    entries = []
    for encoding, values in rows.items():
        rates, losses = (*RATES, "1.0"), (*LOSSES, 1e-2)
        for rate, value, loss in zip(rates, values, losses, strict=False):
            for seed in range(seeds):
                labels, run = entry(encoding, rate, seed, value, loss, **more)
                run["config"] = config(encoding, "copy", seed, steps)
                entries.append((labels, run["run_id"] if (rate, seed) in missing else run))
    folder.mkdir()
    return write_study(folder, *entries, name=name, analysis=ANALYSIS)


@pytest.fixture
def published(tmp_path):
    """Scores as they are read from the file that pe_lab ships."""
    file = tmp_path / "scores.csv"
    study = frame.read(write(tmp_path / "published", PUBLISHED, seeds=6, name="suite_grid"))
    suite_grid.scores(study).to_csv(file, index=False)
    return suite_grid.read_scores(file)


def page(published, *folders):
    protocol = suite.SuiteProtocol("suite_quick", {"copy": settings("copy")}, 4)
    rates = [float(rate) for rate in RATES]
    return suite_grid.page(published, folders, protocol, rates, SPEC, "A remark.").markdown


def rows(text):
    """The rows of the table by name."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: of_name for name, *of_name in cells[1:]}


def test_a_row_has_the_columns_of_the_published_ones_from_as_many_seeds(tmp_path, published):
    found = rows(page(published, write(tmp_path / "mine", MINE)))
    assert list(found) == ["shaw", "rope", "mine"]
    assert [each[0] for each in found.values()] == ["12/12", "0/12", "4/12"]
    best = ["1.00 [1.00, 1.00]", "0.10 [0.10, 0.10]", "0.95 [0.95, 0.95]"]
    assert [each[2] for each in found.values()] == best


def test_a_row_that_reveals_the_target_length_has_the_sign_and_its_note(tmp_path, published):
    text = page(published, write(tmp_path / "mine", MINE, reveals=True))
    assert list(rows(text))[-1] == "mine †"
    assert "- †: reveals the target length" in text


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"missing": {("0.01", 2)}}, "11 of its 12 runs are finished"),
        ({"steps": 50}, "config.train.steps was 50 and is 100 now"),
        ({"name": "suite"}, "its study is suite, and this table is of suite_quick"),
    ],
)
def test_a_row_that_cannot_be_compared_is_named_with_the_reason(
    tmp_path, published, changed, reason
):
    text = page(published, write(tmp_path / "mine", MINE, **changed))
    assert text.startswith(f"A remark.\n\nmine is left out: {reason}.\n\n## At most, best")
    assert list(rows(text)) == ["shaw", "rope"]
