"""Lists encodings, positions, tasks, metrics, configs or studies.

    pe-lab list encodings
    pe-lab list studies      # in the folders results and results/published here

`pe-lab show NAME` describes one of them.
"""

from dataclasses import dataclass

from pe_lab.cli import _catalog, _studies
from pe_lab.cli._arguments import argument
from pe_lab.runs.system import terminal, texts


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab list`."""

    kind: str = argument(", ".join(_catalog.KINDS), choices=_catalog.KINDS)


def run(options: Options) -> int:
    summaries = _catalog.summaries(options.kind)
    if not summaries:
        terminal.show(
            f"There are no {options.kind} here, in results or results/published. "
            f"{_studies.PUBLISHED} `pe-lab suite` prints rows of them, and `pe-lab list configs` "
            "lists what can be trained."
        )
        return 0
    width = max(map(len, summaries))
    for name, line in summaries.items():
        terminal.show(texts.printable(f"{name:{width}}  {line}").rstrip())
    return 0
