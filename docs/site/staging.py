"""The pages as Sphinx reads them: committed pages with links turned, and generated pages.

A committed page links to files of the repository, so that it can also be read there. In the site, a
link to a page becomes a link to its place in the site, one to the file of an encoding or task a
link to the page about it, and one to any other text file a link to a page with its text.
"""

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from docs.build import catalog
from docs.site import layout, member_pages, sources
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_NAMED = re.compile(r"\[[\w./-]+\.(?:md|ipynb)\](?=\(([^)\s]+)\))")  # [suite.md](suite.md#tables)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_INTERVAL = re.compile(r"\[(\S+), (\S+)\]")
_KEPT = ("http://", "https://", "mailto:", "#", "/")  # / is the top of the site
# Files that are copied into the site. Other files become pages with their text.
_COPIED = {".png", ".svg", ".json", ".csv", ".gz", ".npz", ".tex"}


class Links:
    """Links of committed and generated pages, turned to places in the site.

    Attributes:
      assets: files to copy into the site.
      texts: files and folders that get a page with their text.
    """

    def __init__(self, root: Path):
        self.root = root
        self.pages = layout.committed(root) | {Path("README.md"): "index"}
        self.subjects = layout.FOLDERS | subjects()
        self.assets: set[Path] = set()
        self.texts: set[Path] = set()

    def turned(self, text: str, file: Path, name: str) -> str:
        """Return the text of a page with its links turned. Code is left as it is.

        Args:
          file: the page in the repository, from which its links lead.
          name: the page in the site.
        """
        parts, end = [], 0
        for fence in _FENCE.finditer(text):
            parts += [self._prose(text[end : fence.start()], file, name), fence.group()]
            end = fence.end()
        return "".join([*parts, self._prose(text[end:], file, name)])

    def _prose(self, text: str, file: Path, name: str) -> str:
        # A line of a cell may end before an interval and not inside it.
        text = _INTERVAL.sub("[\\1,\N{NO-BREAK SPACE}\\2]", text)
        # The site shows the title of a page in place of the name of its file.
        text = _NAMED.sub(lambda link: "[]" if self._is_page(link[1], file) else link[0], text)
        return _LINK.sub(lambda link: f"]({self.target(link[1], file, name)})", text)

    def _is_page(self, link: str, file: Path) -> bool:
        return Path(os.path.normpath(file.parent / link.partition("#")[0])) in self.pages

    def target(self, link: str, file: Path, name: str) -> str:
        """Return the target in the site of a link of a page.

        Raises:
          UserError: there is no such file.
        """
        if link.startswith(_KEPT):
            return link
        if link.startswith("source:"):  # of a file that also has a page about it
            return self._text(Path(link.removeprefix("source:")), name)
        path, _, anchor = link.partition("#")
        target = Path(os.path.normpath(file.parent / path))
        if not (self.root / target).exists():
            raise UserError(f"{file} links to {link}, which does not exist.")
        if target in self.pages:
            suffix = ".ipynb" if target.suffix == ".ipynb" else ".md"
            place = self.pages[target] + suffix + (f"#{anchor}" if anchor else "")
        elif target in self.subjects:
            place = self.subjects[target]
        elif target.suffix in _COPIED:
            self.assets.add(target)
            place = f"assets/{target}"
        else:
            return self._text(target, name)
        return _up(name) + place

    def _text(self, target: Path, name: str) -> str:
        """Return the link to the page with the text of a file."""
        self.texts.add(target)
        return f"source:{_up(name)}{sources.page(target)}.html"


def subjects() -> dict[Path, str]:
    """Map files of pe_lab to the pages that describe their content."""
    places = {layout.SETTINGS: "reference/settings.md"}
    for name in plugins.names("encodings"):
        places[Path(catalog.path("encodings", name))] = f"encodings/{name}.md"
    for name in plugins.names("positions"):
        places[Path(catalog.path("positions", name))] = f"positions.md#{name}"
    for name, family in member_pages.family_of().items():
        places[Path(catalog.path("tasks", name))] = f"tasks/{family}.md#{name}"
    return places


def _up(name: str) -> str:
    """Return the path from a page of the site to its top."""
    return "../" * name.count("/")


def write(root: Path, folder: Path, generated: Mapping[str, str]) -> None:
    """Write all pages below `folder`. Files that are the same are not touched.

    Args:
      generated: text of each generated page, by its name; its links lead from docs.
    """
    links = Links(root)
    texts = {}
    for file, name in layout.committed(root).items():
        text = (root / file).read_text(encoding="utf-8")
        if file.suffix == ".ipynb":
            texts[f"{name}.ipynb"] = _notebook(text, links, file, name)
        else:
            texts[f"{name}.md"] = links.turned(text, file, name)
    for name in layout.NOT_SEARCHED:
        texts[f"{name}.md"] = f"---\nnosearch: true\n---\n{texts[f'{name}.md']}"
    for name, text in generated.items():
        texts[f"{name}.md"] = links.turned(text, Path("docs/page.md"), name)
    names = {Path(page).with_suffix("").as_posix() for page in texts}
    texts["index.md"] += layout.navigation(names)
    for parent in ("encodings", "tasks", "published", "reference/api"):
        below = sorted(name for name in names if Path(name).parent.as_posix() == parent)
        texts[f"{parent}.md"] += layout.toctree(below)
    texts[sources.LIST] = "\n".join(sorted(map(str, sources.with_content(root, links.texts))))
    for page, text in texts.items():
        _write(folder / page, text)
    for asset in links.assets:
        _copy(root / asset, folder / "assets" / asset)
    kept = {folder / page for page in texts} | {folder / "assets" / a for a in links.assets}
    for path in folder.rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()


def _notebook(text: str, links: Links, file: Path, name: str) -> str:
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = links.turned("".join(cell["source"]), file, name)
    return json.dumps(notebook)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def _copy(file: Path, copy: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    if not copy.exists() or copy.read_bytes() != file.read_bytes():
        shutil.copyfile(file, copy)
