"""The study that the reading commands are measured with."""

import pytest

from experiments.benchmarks import large_study
from pe_lab.results import frame


@pytest.mark.slow
def test_the_large_study_has_its_seeds_at_every_rate_and_a_choice(tmp_path):
    count = large_study.write(tmp_path, 1)
    study = frame.read(tmp_path)
    sizes = study.runs.groupby(["variant", "train.learning_rate"]).size()
    assert len(study.runs) == count == large_study.SEEDS * len(study.variants)
    assert set(sizes) == {large_study.SEEDS}
    assert study.runs["chosen"].sum() == count / len(large_study.RATES)


@pytest.mark.slow
def test_every_command_is_measured(tmp_path):
    large_study.write(tmp_path, 1)
    large_study.write_config(tmp_path, 100)
    figures = large_study.measure(tmp_path)
    assert [figure["command"] for figure in figures] == list(large_study.COMMANDS)
    assert min(figure["cpu_seconds"] for figure in figures) > 0.1  # an import alone takes longer
    assert (tmp_path / "table.md").exists()
    assert (tmp_path / "report.html").exists()


@pytest.mark.slow
def test_a_command_that_fails_has_no_figure(tmp_path):
    with pytest.raises(RuntimeError, match="status ended with exit status 2"):
        large_study.measure(tmp_path, ["status"])
