"""The commits of published records, in words."""

from pe_lab.results.prose import Prose, listed

# Commits of published records that are not in the history of this repository. Pages mark them until
# they are trained or measured again, and a test allows no others.
LOST = (
    "901e3c3d29997f0f272bbabd77de5b9bfa41ba4a",  # copy_baselines, copy_longer
)


def described(found: Prose) -> str:
    """Return the commits of all runs with their numbers of runs; lost ones are marked."""
    texts = []
    for commit, count in found.study.cases.drop_duplicates("run")["commit"].value_counts().items():
        runs = "1 run" if count == 1 else f"{count} runs"
        texts.append(f"{runs} at {marked(str(commit))}")
    return listed(texts)


def marked(commit: str) -> str:
    """Return seven digits of a commit, with a mark if it is lost."""
    mark = " (not in the history of this repository)" if commit in LOST else ""
    return f"{commit[:7]}{mark}"
