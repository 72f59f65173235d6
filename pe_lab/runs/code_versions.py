"""Which version of the code measured a row: digests of the files of encodings, schemes and tasks.

The provenance of a record holds the digests at training. A row holds those that differ from them,
so rows of several code versions stay apart in one record.
"""

from collections.abc import Mapping
from typing import Any

# Digest of a plugin's file by family and name, as in "encodings/rope". None: it has no file.
Sources = Mapping[str, str | None]


def trained(record: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the digests when the run was trained; empty if the record has none."""
    return record["provenance"].get("sources") or {}


def known(record: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the digests that a new row is compared with.

    They are those of training. A plugin that training did not use has the digest of its first row.
    """
    digests = trained(record)
    for row in record["rows"]:
        digests = {**(row["sources"] or {}), **digests}
    return digests


def changed(record: Mapping[str, Any], sources: Sources) -> list[str]:
    """Return the plugins of `sources` whose file differs from the one that the record knows."""
    before = known(record)
    return sorted(
        name for name, digest in sources.items() if name in before and before[name] != digest
    )


def agree(record: Mapping[str, Any], row: Mapping[str, Any], sources: Sources) -> bool:
    """Return whether no plugin that measured a row is known to differ from `sources`."""
    measured = {**trained(record), **(row["sources"] or {})}
    return all(measured.get(name, digest) == digest for name, digest in sources.items())


def differing(record: Mapping[str, Any], sources: Sources | None) -> dict[str, str | None] | None:
    """Return the part of `sources` that the provenance does not have; None if there is none."""
    if sources is None:
        return None
    before = trained(record).items()
    new = {name: digest for name, digest in sources.items() if (name, digest) not in before}
    return new or None
