"""Which version of the code measured a row: digests of the files of encodings, schemes and tasks.

The provenance of a record holds the digests at training. A row holds those that differ from them,
so rows of several code versions stay apart in one record.
"""

from pe_lab.runs.records.record_schema import JsonObject, Sources


def trained(record: JsonObject) -> dict[str, str | None]:
    """Return the digests when the run was trained; empty if the record has none."""
    return dict(record["provenance"].get("sources") or {})


def known(record: JsonObject) -> dict[str, str | None]:
    """Return the digests that a new row is compared with.

    A plugin that training used has the digest at training. Others have the digest of the first row
    that they measured.
    """
    digests = dict(trained(record))
    for row in record["rows"]:
        for name, digest in (row["sources"] or {}).items():
            digests.setdefault(name, digest)
    return digests


def changed(record: JsonObject, sources: Sources) -> list[str]:
    """Return the plugins of `sources` whose file differs from the one that the record knows."""
    before = known(record)
    names = []
    for name, digest in sources.items():
        # A plugin that the record does not know has not changed.
        if before.get(name, digest) != digest:
            names.append(name)
    return sorted(names)


def agree(record: JsonObject, row: JsonObject, sources: Sources) -> bool:
    """Return whether no plugin that measured a row is known to differ from `sources`."""
    of_row = row["sources"] or {}
    measured_sources = trained(record) | of_row
    return all(measured_sources.get(name, digest) == digest for name, digest in sources.items())


def differing(record: JsonObject, sources: Sources | None) -> dict[str, str | None] | None:
    """Return the part of `sources` that the provenance does not have; None if there is none."""
    if sources is None:
        return None
    before = trained(record)
    new = {}
    for name, digest in sources.items():
        # A missing name differs from a name whose digest is None.
        if name not in before or before[name] != digest:
            new[name] = digest
    return new or None
