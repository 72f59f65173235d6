"""Lookups of docs/reproductions.md: claims of papers, counted over the published studies."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from docs.build import numbers, protocols
from docs.build.numbers import Document, Documents
from docs.build.published import STUDIES
from pe_lab.contrib.papers import verdicts
from pe_lab.contrib.prose.numbers import listed
from pe_lab.results import statistics


def studies(root: Path) -> list[str]:
    """Return the names of the published studies that test claims of a paper."""
    names = []
    for file in sorted((root / STUDIES).glob("[!.]*/study.json")):
        if "reproduction" in json.loads(file.read_bytes()).get("analysis", {}):
            names.append(file.parent.name)
    return names


def lookups(root: Path, documents: Documents) -> dict[str, Any]:
    """Return the claims, the counts of verdicts, and a section for each study.

    Raises:
      UserError: a study has claims and its page was not rendered.
    """
    pages = {name: documents(name) for name in studies(root)}
    for name, page in pages.items():
        for number in ("reproduction", "claims"):
            if number not in page:
                raise numbers.missing(name, number)
    tested = {name: page["reproduction"] for name, page in pages.items()}
    claims = [claim for name, page in pages.items() for claim in _claims(name, page)]
    counts = Counter(claim["verdict"] for claim in claims)
    missing = [
        name
        for name in protocols.names(root)
        if not any((root / STUDIES).glob(f"{name}*/study.json"))
    ]
    sections = [_section(name, tested[name], pages[name]["claims"]) for name in tested]
    return {
        "claims": claims,
        "sections": "\n\n".join(sections),
        "num_claims": str(counts.total()),
        "num_authors_size": str(counts["holds at the authors' size"]),
        "num_scaled": str(counts["holds, scaled"]),
        "num_unsolved": str(sum(study["num_unsolved"] for study in tested.values())),
        "num_failing": str(counts["does not hold"]),
        "num_depending": str(counts["depends on the length"]),
        "num_unreached": str(counts["not reached at the authors' size"]),
        "num_undecided": str(counts["undecided"]),
        "confidence": f"{statistics.CONFIDENCE:.0%}".replace("%", " %"),
        "tolerance": f"{verdicts.TOLERANCE:g}",
        "fewest_seeds": str(verdicts.FEWEST_SEEDS),
        "missing": ", ".join(f"[{name}](../configs/papers/{name}.py)" for name in missing),
    }


def _claims(name: str, page: Document) -> list[dict[str, str]]:
    """Return the rows of a page's table of claims, each with its paper, study and reason."""
    header, _, *rows = (line.strip("| ").split(" | ") for line in page["claims"].splitlines())
    claims = []
    for row in rows:
        claim = dict(zip(header, row, strict=True))
        claim["claim"], _, claim["variants"] = claim["claim"].partition(" (a: ")
        claim["verdict"], _, claim["reason"] = claim["verdict"].strip("*").partition("**: ")
        claims.append(claim | {"paper": page["reproduction"]["paper"], "study": _link(name)})
    return claims


def _link(name: str) -> str:
    return f"[{name}](../{STUDIES}/{name}/README.md)"


def _section(name: str, study: dict[str, Any], claims: str) -> str:
    size = "the authors' size" if study["is_authors_size"] else "a smaller size than the authors'"
    rates = listed(map(str, study["rates"]))
    about = f"Trained at {size}, with learning rate {rates}; {_link(name)} has all numbers."
    return f"## {study['paper']}: {name}\n\n{about}\n\n{claims}"
