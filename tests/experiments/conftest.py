import sys

import pytest


@pytest.fixture
def call_main(monkeypatch, capsys):
    """Call the main function of a command in this process.

    Returns: exit status, stdout and stderr.
    """

    def run(main, *arguments):
        monkeypatch.setattr(sys, "argv", ["command", *map(str, arguments)])
        with pytest.raises(SystemExit) as exited:
            main()
        return exited.value.code, *capsys.readouterr()

    return run
