"""Writes the generated pages: docs/*.md, README.md and results/published/*/README.md.

Without the name of a page it also writes the stubs of pe_lab's lazy names (docs/build/stubs.py) and
the rows of the suite that pe_lab ships (docs/build/suite_rows.py).

    python -m docs.build                       # all pages, in seconds
    python -m docs.build docs/tasks.md         # one page
    python -m docs.build --check               # writes nothing; status 2 if a page is stale
    python -m docs.build --measure=scorecard   # first measures again what pages show

Pages are rendered from their templates (docs/tasks.md.jinja), from classes and docstrings, and
from the published numbers of studies (docs/build/numbers.py), which experiments.page computes.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from docs.build import pages, stubs, suite_rows
from docs.build.measure import MEASUREMENTS
from pe_lab import cli
from pe_lab.cli._arguments import arguments, flag
from pe_lab.runs.errors import UserError
from pe_lab.runs.system import commands

_MEASUREMENTS = "; ".join(f"{name}: {text}" for name, (_, text) in MEASUREMENTS.items())


@dataclass(frozen=True)
class Options:
    """Arguments of `python -m docs.build`."""

    names: Sequence[str] = arguments("pages to write; default: all pages")
    check: bool = flag("compare the pages with their files, write nothing")
    measure: Sequence[str] = flag(
        f"measure first; {_MEASUREMENTS}",
        default=(),
        choices=sorted(MEASUREMENTS),
        repeated=True,
    )


def run(options: Options) -> int:
    root, names = Path(), list(options.names)
    selected = pages.select(root, names)
    if options.check:
        stale = pages.stale(root, selected)
        if not names:
            stale += stubs.stale(root)
            stale += [suite_rows.SCORES] if suite_rows.is_stale(root) else []
        if stale:
            count = "1 page is" if len(stale) == 1 else f"{len(stale)} pages are"
            listed = ", ".join(map(str, stale))
            build = commands.python("-m", "docs.build")
            raise UserError(f"{count} stale: {listed}. This command writes them: {build}")
        print(f"{len(selected)} pages are up to date")
        return 0
    for name in options.measure:
        measure, _ = MEASUREMENTS[name]
        measure(root)
    for page in selected:
        (root / page).write_text(pages.text(root, page), encoding="utf-8")
        print(f"wrote {page}")
    if not names:
        stubs.write(root)
        suite_rows.write(root)
    return 0


if __name__ == "__main__":
    cli.main_of(sys.modules[__name__], "python -m docs.build")
