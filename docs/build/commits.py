"""The commits of published records, in words."""

from pe_lab.results.prose import Prose, listed


def described(found: Prose) -> str:
    """Return the commits of all runs with their numbers of runs."""
    texts = []
    for commit, count in found.study.cases.drop_duplicates("run")["commit"].value_counts().items():
        runs = "1 run" if count == 1 else f"{count} runs"
        texts.append(f"{runs} at {str(commit)[:7]}")
    return listed(texts)
