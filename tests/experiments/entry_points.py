"""Entry points, each in a process of its own.

The processes are forked after the imports that all of them need.

done = call("sweep", "--config=configs/smoke.py")     # done.returncode, done.stdout, done.stderr
"""

import atexit
import functools
import gc
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

from pe_lab import cli

ROOT = Path(__file__).parents[2]


@functools.cache
def _server():
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    env.pop("JAX_NUMPY_RANK_PROMOTION", None)
    command = [sys.executable, "-m", "tests.experiments.entry_points"]
    server = subprocess.Popen(
        command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(server.__exit__, None, None, None)  # closes its pipes, at which it ends
    return server


def call(module, *arguments, cwd=ROOT, path=()):
    """Run `pe-lab <module> <arguments>`, or `python -m experiments.<module> <arguments>`.

    The second form is for modules that are no commands of pe-lab. `path` precedes Python's own
    path, in this process and in its workers.
    """
    is_command = module in cli.names()
    asked = {
        "module": "pe_lab" if is_command else f"experiments.{module}",
        "arguments": [*([module] if is_command else []), *map(str, arguments)],
        "cwd": str(cwd),
        "path": [*map(str, path)],
    }
    _server().stdin.write(json.dumps(asked) + "\n")
    _server().stdin.flush()
    done = subprocess.CompletedProcess(**json.loads(_server().stdout.readline()))
    assert "Traceback" not in done.stderr, done.stderr
    return done


def refused(module, *arguments, **places):
    """Return the sentence of a command that must exit with status 2, without "error: "."""
    done = call(module, *arguments, **places)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("error: ")
    return done.stderr.removeprefix("error: ").rstrip("\n")


def _serve():
    import pe_lab.contrib.inspection.scorecard_report
    import pe_lab.results.tables
    import pe_lab.sweeps.sweep
    import pe_lab.training.process  # noqa: F401

    gc.freeze()  # a child that collects none of these modules' objects ends three times as fast
    for line in sys.stdin:
        asked = json.loads(line)
        streams = [os.memfd_create(name) for name in ("stdout", "stderr")]
        child = os.fork()
        if not child:
            _become(asked, streams)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = [os.pread(stream, os.fstat(stream).st_size, 0).decode() for stream in streams]
        for stream in streams:
            os.close(stream)
        print(
            json.dumps(
                {
                    "args": asked["arguments"],
                    "returncode": status,
                    "stdout": said[0],
                    "stderr": said[1],
                }
            ),
            flush=True,
        )


def _become(asked, streams):
    """The child: runs the module as Python's own -m would, and never returns."""
    for number, stream in enumerate(streams, start=1):
        os.dup2(stream, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(asked["cwd"])
    sys.path[:0] = asked["path"]
    os.environ.update(COLUMNS="100", PYTHONPATH=os.pathsep.join([*asked["path"], str(ROOT)]))
    sys.argv = [asked["module"], *asked["arguments"]]
    runpy.run_module(asked["module"], run_name="__main__", alter_sys=True)
    sys.exit(0)


if __name__ == "__main__":
    _serve()
