"""Which code measured a row: digests of the files of encodings, schemes and tasks in a record.

A record's provenance holds the digests of its training. A row holds those that differ from them,
so rows of several code versions stay apart in one record. Plain Python.
"""

from collections.abc import Mapping
from typing import Any

Sources = Mapping[str, str | None]  # "encodings/rope" -> digest of the file; None: it has no file


def trained(record: Mapping[str, Any]) -> dict[str, str | None]:
    """The digests when the run was trained; empty if the record has none."""
    return record["provenance"].get("sources") or {}


def known(record: Mapping[str, Any]) -> dict[str, str | None]:
    """The digests that a new row is compared with: those of training, then the first of a row."""
    first: dict[str, str | None] = {}
    for row in record["rows"]:
        first = {**(row["sources"] or {}), **first}
    return {**first, **trained(record)}


def changed(record: Mapping[str, Any], sources: Sources) -> list[str]:
    """The plugins of `sources` whose file is not the one that the record knows."""
    before = known(record)
    return sorted(n for n, digest in sources.items() if n in before and before[n] != digest)


def agree(record: Mapping[str, Any], row: Mapping[str, Any], sources: Sources) -> bool:
    """Whether no plugin that measured a row is known to differ from `sources`."""
    measured = {**trained(record), **(row["sources"] or {})}
    return all(measured.get(name, digest) == digest for name, digest in sources.items())


def differing(record: Mapping[str, Any], sources: Sources | None) -> dict[str, str | None] | None:
    """The part of `sources` that is not in the record's provenance; None if there is none."""
    before = trained(record).items()
    return {n: digest for n, digest in (sources or {}).items() if (n, digest) not in before} or None
