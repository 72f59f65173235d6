"""Lists encodings, positions, tasks, metrics, configs or studies, one a line.

    pe-lab list encodings
    pe-lab list studies      # of the results folder here, and the published ones

`pe-lab show NAME` describes one of them.
"""

import argparse

from pe_lab.cli import _catalog


def define(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=_catalog.KINDS, help="what to list")


def run(options: argparse.Namespace) -> int:
    summaries = _catalog.summaries(options.kind)
    if not summaries:
        print(f"There are no {options.kind} in this folder.")
        return 0
    width = max(map(len, summaries))
    for name, line in summaries.items():
        print(f"{name:{width}}  {line}".rstrip())
    return 0
