"""The laws on one position scheme, with a reason for each law that does not hold."""

import traceback
from collections.abc import Iterator

from pe_lab.contrib.laws import report_lines
from pe_lab.contrib.laws.scheme_laws import LAWS, build
from pe_lab.runs.errors import one_line


def check(
    spec: dict[str, object],
    *,
    only: str | None = None,
    keep_going: bool = False,
    verbose: bool = False,
) -> Iterator[str]:
    """Check the laws, and yield a line for each one and lines for each that does not hold.

    Args:
      only: a law; None: all laws.
      keep_going: do not stop at the first law that does not hold.
      verbose: also yield the traceback.
    """
    scheme = build(spec)
    num_held = num_broken = 0
    for name in [only] if only else LAWS:
        try:
            LAWS[name](scheme)
            yield f"ok     {name}"
            num_held += 1
            continue
        except Exception as error:  # the class may raise anything
            yield f"FAILS  {name}"
            yield from _reasons(name, error, verbose)
        num_broken += 1
        if not keep_going:
            yield report_lines.stopped(only)
            return
    yield report_lines.total(num_held, num_broken)


def _reasons(law: str, error: Exception, verbose: bool) -> list[str]:
    """What a law demands, and the message of its error."""
    raised = "" if isinstance(error, AssertionError) else f"It raises {type(error).__name__}: "
    lines = report_lines.indented([report_lines.demand(LAWS[law]), f"{raised}{one_line(error)}"])
    if verbose:
        lines += "".join(traceback.format_exception(error)).splitlines()
    return lines
