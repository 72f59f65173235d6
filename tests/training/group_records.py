"""Records of run groups, by seed."""

from pe_lab.runs.records import records


def by_seed(folder):
    return {r["member"]["seed"]: r for r in records.read_all(folder).values()}
