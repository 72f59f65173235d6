"""The place of each page in the site."""

from collections.abc import Mapping
from pathlib import Path

from pe_lab import parts
from pe_lab.runs.errors import UserError

PUBLISHED = Path("results/published")
# Folders whose files have pages of their own in the site, and the pages that list them.
FOLDERS = {
    Path(package.replace(".", "/")): f"{family}.md"
    for family in ("encodings", "positions", "tasks")
    for package in parts.packages(family)
}

SETTINGS = Path("pe_lab/runs/settings/settings.py")  # its page is the table of settings

# Caption -> pages below it. A page that docs does not have yet is left out.
NAVIGATION: Mapping[str, tuple[str, ...]] = {
    "Start": ("install", "quickstart", "tour", "guide"),
    "How to": ("extending", "studies", "running", "clusters", "results", "inspect", "reuse"),
    "Results": ("findings", "suite", "reproductions", "claims", "protocols", "published"),
    "Encodings and tasks": ("encodings", "positions", "tasks"),
    "Reference": ("reference/commands", "reference/settings", "models", "reference/api"),
    "About": ("architecture", "statistics", "performance", "citing", "contributing", "changelog"),
}
# Pages that name everything, so that a search would find them before the page about a thing.
NOT_SEARCHED = ("changelog",)
# Pages that may be missing.
EXPECTED = ("findings", "reproductions")


def committed(root: Path) -> dict[Path, str]:
    """Map each committed page below `root` to its name in the site."""
    pages: dict[Path, str] = {}
    for pattern in ("docs/*.md", "docs/*.ipynb"):
        pages |= {file.relative_to(root): file.stem for file in sorted(root.glob(pattern))}
    for file in sorted(root.glob(f"{PUBLISHED}/*/README.md")):
        pages[file.relative_to(root)] = f"published/{file.parent.name}"
    for name in ("CHANGELOG", "CONTRIBUTING"):
        pages[Path(f"{name}.md")] = name.lower()
    return pages


def navigation(names: set[str]) -> str:
    """Return the toctrees of the start page.

    Raises:
      UserError: a page does not exist.
    """
    parts = []
    for caption, entries in NAVIGATION.items():
        there = [name for name in entries if name in names or name not in EXPECTED]
        missing = [name for name in there if name not in names]
        if missing:
            raise UserError(f"docs/site/layout.py names {missing[0]!r}, which is no page.")
        parts.append(toctree(there, caption))
    return "\n".join(parts)


def toctree(names: list[str], caption: str = "") -> str:
    """Return a hidden table of contents, which only the navigation shows."""
    options = f":caption: {caption}\n" if caption else ""
    listed = "\n".join(map(_entry, names))
    return f"\n```{{toctree}}\n:hidden:\n{options}\n{listed}\n```\n"


def _entry(name: str) -> str:
    """Return the line of a page: the title of a study ends in "results", its name is shorter."""
    folder, _, short = name.rpartition("/")
    return f"{short} </{name}>" if folder == "published" else f"/{name}"
