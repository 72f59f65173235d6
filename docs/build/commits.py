"""The commits of published records, in words."""

import collections
from collections.abc import Iterable

# Commits of published records that are not in the history of this repository. Pages mark them until
# they are trained or measured again, and a test allows no others.
LOST = (
    "901e3c3d29997f0f272bbabd77de5b9bfa41ba4a",  # copy_baselines, copy_longer
)


def described(of_runs: Iterable[str]) -> list[str]:
    """Return each commit with its number of runs; lost ones are marked."""
    texts = []
    for commit, count in collections.Counter(of_runs).most_common():
        runs = "1 run" if count == 1 else f"{count} runs"
        texts.append(f"{runs} at {marked(commit)}")
    return texts


def marked(commit: str) -> str:
    """Return seven digits of a commit, with a mark if it is lost."""
    mark = " (not in the history of this repository)" if commit in LOST else ""
    return f"{commit[:7]}{mark}"
