"""The time that training the runs of a published study took, in words."""

from pe_lab.results.prose import Prose, listed


def described(found: Prose) -> str:
    """Return the hours of the training programs of a study, by kind of machine."""
    runs = found.study.cases.drop_duplicates("run")
    machines = [provenance["device"] for provenance in runs["provenance"]]
    hours = runs["train_seconds"].groupby(machines, sort=False).sum() / 3600
    return listed(f"{amount:.2g} h {_on(str(name))}" for name, amount in hours.items())


def _on(device: str) -> str:
    """Words for a device of a record, such as "cpu: cpu" or "gpu: NVIDIA H200"."""
    kind, _, model = device.partition(": ")
    return "of a CPU core" if kind == "cpu" else f"on an {model}"
