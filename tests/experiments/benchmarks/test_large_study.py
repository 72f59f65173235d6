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
@pytest.mark.parametrize("command", large_study.COMMANDS)
def test_every_command_runs(command, tmp_path):
    large_study.write(tmp_path, 1)
    large_study.write_config(tmp_path, 100)
    large_study.run_command(command, tmp_path)
    assert (tmp_path / "table.md").exists() == (command == "tables")
