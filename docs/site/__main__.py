"""Builds the site into build/site and checks it; status 1 if anything is wrong.

    python -m docs.site

The pages that Sphinx reads are written to .cache/site first: copies of the committed pages with
their links turned to pages of the site, and generated pages. Warnings of Sphinx are errors.
"""

import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from docs.site import check, encoding_pages, member_pages, reference_pages, sources, staging

STAGED = Path(".cache/site")
SITE = Path("build/site")
COMPLETE = Path(".cache/site_is_complete")


def main() -> int:
    root = Path()
    generated = {
        **encoding_pages.pages(root),
        **member_pages.pages(root),
        **reference_pages.pages(),
    }
    staging.write(root, STAGED, generated)
    if not COMPLETE.exists():
        # Sphinx would not write again what an interrupted build has read, such as pictures.
        shutil.rmtree(SITE, ignore_errors=True)
    COMPLETE.unlink(missing_ok=True)
    configuration = str(Path(__file__).parent)
    arguments = ["--fail-on-warning", "--keep-going", "--quiet", "-c", configuration]
    status = build_main([*arguments, str(STAGED), str(SITE)])
    problems = check.problems(SITE) if status == 0 else []
    for problem in problems:
        print(problem, file=sys.stderr)
    if status or problems:
        return 1
    COMPLETE.touch()
    print(f"{SITE / 'index.html'}: {sources.count(SITE)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
