"""Numbers that the designs of configs declare and that no table of a study prints.

    python -m experiments.declared convolution FOLDER...
    python -m experiments.declared more_seeds FOLDER...
    python -m experiments.declared size_ladder FOLDER... --reference=FOLDER,... [--solved-in=FOLDER]
    python -m experiments.declared alphabet FOLDER
    python -m experiments.declared real_text FOLDER FOLDERS_OF_SUITE_GRID...
    python -m experiments.declared state_tracking FOLDER
    python -m experiments.declared warm_up FOLDER

FOLDER is the folder of a study, such as results/published/suite_grid_copying. The first argument is
the config, whose docstring declares the rules. Runs of all folders are read together, each once:
`convolution` needs those of its form `tasks`; `more_seeds` those of its study and of suite_grid;
`size_ladder` those of one size, as its reference those of suite_grid and of convolution, and a size
that must be solved too, 2 x 128 for 4 x 128; `alphabet` and `warm_up` those of their study;
`real_text` those of its study, in the first folder, and of suite_grid; `state_tracking` those of
its form `groups` or `blocks`.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from configs import state_tracking
from experiments.declared import (
    common,
    depth,
    groups,
    ladder,
    repeats,
    text_tiers,
    tiers,
    warm_ups,
)
from pe_lab import cli
from pe_lab.cli._arguments import argument, arguments, flag, separated
from pe_lab.results import frame
from pe_lab.runs.errors import UserError

CONFIGS = (
    "convolution",
    "more_seeds",
    "size_ladder",
    "alphabet",
    "real_text",
    "state_tracking",
    "warm_up",
)


@dataclass(frozen=True)
class Options:
    """Arguments of `python -m experiments.declared`."""

    config: str = argument("the config that declares", choices=CONFIGS)
    folders: Sequence[str] = arguments("folders of studies")
    reference: Sequence[str] = flag(
        "size_ladder: folders with the runs of width 64", separated, default=()
    )
    solved_in: str = flag("size_ladder: a size that rows must solve, too", str, default="")


def run(options: Options) -> int:
    if not options.folders or bool(options.reference) != (options.config == "size_ladder"):
        raise UserError(
            "Give the folders of studies; size_ladder needs --reference=FOLDER,... too."
        )
    if options.config == "real_text" and len(options.folders) < 2:
        raise UserError("real_text needs its folder, and those of suite_grid.")
    lines = _LINES[options.config](options)
    print("\n".join(lines))
    return 0


def _state_lines(folders: Sequence[str]) -> list[str]:
    """Return the lines of `groups` if the tasks are groups, and of `blocks` otherwise."""
    runs = common.read(folders)
    if set(runs["task"]) <= set(state_tracking.GROUPS):
        return groups.groups_lines(folders[0])
    return depth.blocks_lines(runs)


_LINES: Mapping[str, Callable[[Options], list[str]]] = {
    "convolution": lambda options: tiers.convolution_lines(common.read(options.folders)),
    "more_seeds": lambda options: tiers.more_seeds_lines(common.read(options.folders)),
    "size_ladder": lambda options: ladder.size_ladder_lines(
        common.read(options.folders),
        common.read(options.reference),
        common.read([options.solved_in]) if options.solved_in else None,
    ),
    "alphabet": lambda options: repeats.alphabet_lines(options.folders[0]),
    "state_tracking": lambda options: _state_lines(options.folders),
    "warm_up": lambda options: warm_ups.warm_up_lines(options.folders[0]),
    "real_text": lambda options: text_tiers.real_text_lines(
        frame.read(options.folders[0]), common.read(options.folders[1:])
    ),
}

if __name__ == "__main__":
    cli.main_of(sys.modules[__name__], "python -m experiments.declared")
