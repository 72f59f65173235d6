"""Run groups that are Python programs: what a child of the launcher runs in place of a training."""

import os
import runpy
import signal
import sys


def run(program, folder, should_leave, report):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    sys.argv = [str(program), str(folder)]
    tried = os.path.join(folder, f"{program.stem}.tried")
    is_again = os.path.exists(tried)
    open(tried, "w").close()
    try:
        names = {"report": report, "should_leave": should_leave, "is_again": is_again}
        runpy.run_path(str(program), names, run_name="__main__")
    except SystemExit as e:
        return e.code
    return 0
