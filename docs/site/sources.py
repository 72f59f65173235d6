"""Pages with the text of files of the repository, to which other pages link."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx.application import Sphinx

LIST = "sources.txt"  # the files that get a page, below the folder of the pages
_SHOWN = {".py", ".md", ".toml", ".yaml", ".cff", ".txt", ""}


def page(path: Path) -> str:
    """Return the name of the page of a file or a folder."""
    return f"source/{path}"


def with_content(root: Path, paths: Iterable[Path]) -> set[Path]:
    """Return the paths, and the files in those that are folders."""
    found = set()
    for path in paths:
        found.add(path)
        if (root / path).is_dir():
            found |= {path / file.name for file in _content(root / path)}
    return found


def _content(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.iterdir()) if file.is_file() and file.suffix in _SHOWN]


def count(site: Path) -> int:
    """Return the number of pages of a site."""
    return len(list(site.rglob("*.html")))


def collect(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the name, the title and the text of each page, and the template."""
    root = Path()
    for line in (Path(app.srcdir) / LIST).read_text(encoding="utf-8").splitlines():
        path = Path(line)
        body = _listing(root / path) if (root / path).is_dir() else _text(root / path)
        yield page(path), {"title": str(path), "body": f"<h1>{path}</h1>{body}"}, "page.html"


def _listing(folder: Path) -> str:
    items = []
    for file in _content(folder):
        items.append(f'<li><a href="{folder.name}/{file.name}.html">{file.name}</a></li>')
    return f"<ul>{''.join(items)}</ul>"


def _text(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    try:
        lexer = get_lexer_for_filename(file.name)
    except ClassNotFound:
        lexer = TextLexer()
    if file.suffix == ".md":  # tables with long lines are read as they are
        lexer = TextLexer()
    return highlight(text, lexer, HtmlFormatter(cssclass="highlight"))
