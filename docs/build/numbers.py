"""Numbers of published pages, from the file numbers.json in the folder of a study.

A published page is a document: `python -m experiments.page NAME` computes its numbers once. Later,
its README.md is its template with these numbers, and the front page, the findings and the guide
cite them too. The name of a number is the expression that a template has, without quotes:

    {{ study.center("rope", 32) }}    is    "study.center(rope, 32)"

A text in brackets behind a number is its interval.
"""

import functools
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from docs.build.published import STUDIES
from pe_lab.runs.errors import UserError
from pe_lab.runs.system import commands

FILE = "numbers.json"
Document = Mapping[str, Any]  # the names that a template of a page may use
Documents = Callable[[str], Document]  # of the name of a published study


class Citation:
    """The beginning of a number's name, such as `study.center`.

    A Citation that is printed, compared or tested names no number of the file: an error.
    """

    def __init__(self, study: str, values: Mapping[str, object], name: str):
        self._study, self._values, self._name = study, values, name

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_", "jinja_")):  # Jinja asks for protocols of its own
            raise AttributeError(name)
        return self._of(f"{self._name}.{name}")

    def __call__(self, *arguments: object, **keywords: object) -> Any:
        return self._of(called(self._name, arguments, keywords))

    def _of(self, name: str) -> Any:
        return self._values.get(name, Citation(self._study, self._values, name))

    def _refuse(self, *others: object) -> NoReturn:
        raise missing(self._study, self._name)

    __str__ = __format__ = __iter__ = __len__ = __bool__ = __eq__ = __ne__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = _refuse


def missing(study: str, name: str) -> UserError:
    """Return the error that numbers.json of a study has no number of this name."""
    return UserError(
        f"{STUDIES / study / FILE} has no number {name}. This command computes the page again, as "
        f"of the present code: {commands.python('-m', 'experiments.page', study)}"
    )


def called(name: str, arguments: tuple[object, ...], keywords: Mapping[str, object]) -> str:
    """Return the name of the number that a call returns."""
    # An argument may be the beginning of a name itself, as in `commits(study)`.
    texts = [str(getattr(argument, "_name", argument)) for argument in arguments]
    texts += [f"{key}={value}" for key, value in keywords.items()]
    return f"{name}({', '.join(texts)})"


@functools.cache
def document(root: Path, study: str) -> Document:
    """Return the names of a page below `root`, from its numbers."""
    file = root / STUDIES / study / FILE
    entries = json.loads(file.read_text(encoding="utf-8"))["numbers"] if file.exists() else {}
    values = {name: entry["shown"] for name, entry in entries.items()}
    first = {"study", *(re.split(r"[.(]", name)[0] for name in values)}
    return {name: values.get(name, Citation(study, values, name)) for name in first}
