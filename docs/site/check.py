"""Checks of the built site: every link and anchor exists, and nothing is loaded from a network."""

import functools
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """The anchors of a page, the targets of its links, and the files that it loads."""

    def __init__(self, file: Path):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value for key, value in attrs if value is not None}
        for key in ("id", "name"):
            if key in values:
                self.anchors.add(values[key])
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        if tag in _LOADS and _LOADS[tag] in values:
            self.loads.add(values[_LOADS[tag]])


def problems(site: Path) -> list[str]:
    """Return a sentence for each link that leads nowhere and each file from a network."""
    site = site.resolve()
    read = functools.cache(Page)
    sentences = []
    for file in sorted(site.rglob("*.html")):
        page = read(file)
        name = file.relative_to(site)
        for target in sorted(page.loads | page.links):
            address = urlsplit(target)
            if address.scheme or address.netloc:
                if target in page.loads and address.scheme != "data":
                    sentences.append(f"{name} loads {target} from a network.")
                continue
            path = file
            if address.path:
                path = (file.parent / unquote(address.path)).resolve()
            if not path.is_file():
                sentences.append(f"{name} links to {target}, which does not exist.")
                continue
            is_page = address.fragment and path.suffix == ".html"
            if is_page and unquote(address.fragment) not in read(path).anchors:
                sentences.append(f"{name} links to {target}, which has no such anchor.")
    return sentences
