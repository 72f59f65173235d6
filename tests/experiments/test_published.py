"""Numbers that every page of a study can have."""

from experiments import published
from pe_lab.contrib.prose.numbers import Prose
from pe_lab.results import frame
from tests.contrib.prose.test_numbers import study
from tests.results.fake_study import entry, write_study


def run(name, seconds, device, **changes):
    labels, record = entry(name, **changes)
    record["cost"] = {"train_seconds": seconds}
    record["provenance"] = {"device": device}
    return labels, record


def test_hours_are_summed_for_each_machine(tmp_path):
    runs = [
        run("rope", 3600.0, "cpu: cpu"),
        run("alibi", 1800.0, "cpu: cpu"),
        run("fire", 180.0, "gpu: NVIDIA H200"),
    ]
    prose = Prose(frame.read(write_study(tmp_path, *runs)))
    expected = "1.5 h of a CPU core and 0.05 h on an NVIDIA H200"
    assert published.training_time(prose) == expected


def test_a_run_that_several_variants_share_counts_once(tmp_path):
    labels, record = run("rope", 3600.0, "cpu: cpu")
    again = {**labels, "model.encodings": "rope again"}
    prose = Prose(frame.read(write_study(tmp_path, (labels, record), (again, record))))
    assert published.training_time(prose) == "1 h of a CPU core"


def test_commits_are_named_with_their_runs(tmp_path):
    prose = study(tmp_path, {"rope": [0.5, 0.6, 0.7]})
    prose.study.cases["commit"] = ["b" * 40, "a" * 40, "a" * 40]
    assert published.commits(prose) == "2 runs at aaaaaaa and 1 run at bbbbbbb"
