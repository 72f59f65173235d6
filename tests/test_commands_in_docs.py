"""The commands that README.md and the pages of docs show exist, with their flags and links."""

import re

import pytest

from tests.experiments.entry_points import ROOT, call

PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")),
]
COMMAND = re.compile(r"(?:python -m experiments\.|\bpe-lab )([\w.]+)([^\n`#]*(?:\\\n[^\n`#]*)*)")


def commands():
    """(module, flags) of every command, each once."""
    seen = set()
    for page in PAGES:
        for module, arguments in COMMAND.findall((ROOT / page).read_text(encoding="utf-8")):
            names = re.findall(r"(?:^|[ \[])--([a-z_-]+)", arguments)
            names = [name.replace("_", "-") for name in names]
            seen |= {(module, name) for name in names} | {(module, "help")}
    return sorted(seen)


@pytest.mark.parametrize("module", sorted({module for module, _ in commands()}))
def test_a_command_has_the_flags_that_pages_give_it(module):
    done = call(module, "--help")
    assert done.returncode == 0, done.stderr
    own = {"help", "config"} | set(re.findall(r"^  (?:-h, )?--([\w-]+)", done.stdout, re.MULTILINE))
    own = {name.replace("_", "-") for name in own}
    assert {name for m, name in commands() if m == module} <= own


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE
    )
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), link
