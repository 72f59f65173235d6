"""The training time of a study, as its page has it."""

from docs.build import training_time
from pe_lab.results import frame
from pe_lab.results.prose import Prose
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
    study = Prose(frame.read(write_study(tmp_path, *runs)))
    expected = "1.5 h of a CPU core and 0.05 h on an NVIDIA H200"
    assert training_time.described(study) == expected


def test_a_run_that_several_variants_share_counts_once(tmp_path):
    labels, record = run("rope", 3600.0, "cpu: cpu")
    again = {**labels, "model.encodings": "rope again"}
    study = Prose(frame.read(write_study(tmp_path, (labels, record), (again, record))))
    assert training_time.described(study) == "1 h of a CPU core"
