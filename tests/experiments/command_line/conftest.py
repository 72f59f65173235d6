import dataclasses
import os
import sys
from collections.abc import Sequence
from types import ModuleType

import pytest

from pe_lab import cli
from pe_lab.cli import _config_files
from pe_lab.cli._arguments import allow_plugins, argument, flag, overrides, whole_number
from tests.experiments.command_line.configs import STUDY


@pytest.fixture
def config_file(tmp_path):
    """Writes a config file that differs from base by its lines."""

    def write(config="pass", sweep="grid.product()", text=None):
        path = tmp_path / "study.py"
        path.write_text(text or STUDY.format(config=config, sweep=sweep), encoding="utf-8")
        return path

    return write


@dataclasses.dataclass(frozen=True)
class Options:
    """Arguments of a command that takes a config."""

    config: str = argument(_config_files.HELP)
    overrides: Sequence[str] = overrides()
    workers: int | None = flag("processes", whole_number(1), default=None)
    dry_run: bool = flag("train nothing")
    allow_plugins: Sequence[str] = allow_plugins()


@pytest.fixture
def call(monkeypatch, call_main):
    """Call from arguments to (exit status, stdout, stderr, what main received), in this process."""
    received = []

    def main(file):
        return 0

    def run(*arguments, main=main):
        def command(options):
            file = _config_files.read(options.config, options.overrides)
            received.append((file, options.workers, options.dry_run))
            return main(file)

        monkeypatch.setattr(os, "_exit", sys.exit)  # Ctrl-C must not end pytest
        module = ModuleType("command", "A command.")
        module.Options, module.run = Options, command
        return *call_main(lambda: cli.main_of(module, "pe-lab sweep"), *arguments), received

    return run
