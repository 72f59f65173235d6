"""The generated pages of the repository.

A page is rendered from the template with its name and `.jinja`: docs/tasks.md from
docs/tasks.md.jinja, README.md of a published study from the README.md.jinja in its folder and its
numbers (docs/build/numbers.py). Only the results in README.md at the top are rendered into a page
that is otherwise written by hand.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from docs.build import (
    claims,
    encodings,
    metrics,
    numbers,
    performance,
    protocols,
    reproductions,
    statistics,
    tasks,
    templates,
)
from docs.build.guide import page as guide
from docs.build.numbers import Documents
from docs.build.published import STUDIES
from pe_lab.runs.errors import UserError, unknown

README_TEMPLATE = "README.md.jinja"
FRONT_PAGE = Path("README.md")
FRONT_TEMPLATE = STUDIES / "suite_grid_copying" / "front_page.md.jinja"
BEGIN = "<!-- results, written by `python -m docs.build` from front_page.md.jinja -->\n"
END = "<!-- end of results -->\n"

Lookups = Mapping[str, Any]

# The lookups of single pages. Every page can cite published pages as well.
LOOKUPS: dict[str, Callable[[Path], Lookups]] = {
    "docs/encodings.md": encodings.lookups,
    "docs/guide.md": guide.lookups,
    "docs/performance.md": performance.lookups,
    "docs/protocols.md": protocols.lookups,
    "docs/statistics.md": statistics.lookups,
    "docs/studies.md": metrics.lookups,
    "docs/tasks.md": tasks.lookups,
}
# The lookups of pages with claims, which are judged by numbers of published studies.
WITH_CLAIMS: dict[str, Callable[[Path, Documents], Lookups]] = {
    "README.md": reproductions.lookups,
    "docs/claims.md": claims.lookups,
    "docs/reproductions.md": reproductions.lookups,
}
# Pages that cite published studies.
CITING = (*WITH_CLAIMS, "docs/findings.md", "docs/guide.md", "docs/published.md")


def templates_of(root: Path) -> dict[Path, Path]:
    """Map each generated page below `root` to its template; both are relative to `root`."""
    pages = {}
    for pattern in ("docs/*.md.jinja", f"{STUDIES}/*/{README_TEMPLATE}"):
        for template in sorted(root.glob(pattern)):
            relative = template.relative_to(root)
            pages[relative.with_suffix("")] = relative
    if (root / FRONT_TEMPLATE).exists():
        pages[FRONT_PAGE] = FRONT_TEMPLATE
    return pages


def select(root: Path, names: Sequence[str]) -> list[Path]:
    """Return the pages with these names; all pages if there are no names.

    Raises:
      UserError: there is no such page.
    """
    pages = list(templates_of(root))
    if not pages:
        raise UserError("There are no templates here. Run docs.build in the top folder of pe_lab.")
    known = [str(page) for page in pages]
    for name in names:
        if name not in known:
            raise unknown("docs.build", name, known)
    return [page for page in pages if not names or str(page) in names]


def text(root: Path, page: Path, documents: Documents | None = None) -> str:
    """Render a page from its template and the published numbers below `root`.

    A page of the site can cite published studies: `of(NAME)` has the numbers that every study has,
    and `page(NAME)` those of its own analysis.

    Args:
      documents: in place of the published numbers.

    Raises:
      UserError: a number is not published.
    """
    documents = documents or functools.partial(numbers.document, root)
    template = templates_of(root)[page]
    if template.name == README_TEMPLATE:
        lookups = documents(template.parent.name)
    else:
        lookups = {"of": lambda name: documents(name)["study"], "page": documents}
        lookups |= LOOKUPS.get(str(page), lambda root: {})(root)
        if page_lookups := WITH_CLAIMS.get(str(page)):
            lookups |= page_lookups(root, documents)
    source = (root / template).read_text(encoding="utf-8")
    try:
        rendered = templates.render(source, **lookups)
    except jinja2.UndefinedError as error:
        raise UserError(f"{template}: {error.message}.") from None
    return _inserted(root / page, rendered) if page == FRONT_PAGE else rendered


def stale(root: Path, pages: Sequence[Path]) -> list[Path]:
    """Return the pages whose files differ from what would be written now."""
    return [page for page in pages if _current(root / page) != text(root, page)]


def _current(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


def _inserted(file: Path, results: str) -> str:
    """Return the text of the front page with its marked part replaced."""
    before, begin, rest = file.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise UserError(f"{file.name} has no part between {BEGIN.strip()} and {END.strip()}.")
    return before + BEGIN + results + END + after
