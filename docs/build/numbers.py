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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docs.build.published import STUDIES
from pe_lab.runs.errors import UserError
from pe_lab.runs.system import commands

FILE = "numbers.json"
Document = Mapping[str, Any]  # the names that a template of a page may use


class Citation:
    """The beginning of a number's name, such as `study.center`.

    A Citation that is printed names no number of the file, which is an error.
    """

    def __init__(self, study: str, values: Mapping[str, Any], name: str):
        self._study, self._values, self._name = study, values, name

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_", "jinja_")):  # Jinja asks for protocols of its own
            raise AttributeError(name)
        return self._of(f"{self._name}.{name}")

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._of(called(self._name, arguments, keywords))

    def _of(self, name: str) -> Any:
        return self._values.get(name, Citation(self._study, self._values, name))

    def __str__(self) -> str:
        raise UserError(
            f"{STUDIES / self._study / FILE} has no number {self._name}. This command computes the "
            f"page again, as of the present code: "
            f"{commands.python('-m', 'experiments.page', self._study)}"
        )

    def __format__(self, form: str) -> str:
        return str(self)

    def __iter__(self) -> Iterator[str]:
        return iter(str(self))


def called(name: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> str:
    """Return the name of the number that a call returns."""
    # An argument may be the beginning of a name itself, as in `commits(study)`.
    texts = [str(getattr(argument, "_name", argument)) for argument in arguments]
    texts += [f"{key}={value}" for key, value in keywords.items()]
    return f"{name}({', '.join(texts)})"


@functools.cache
def document(root: Path, study: str) -> Document:
    """Return the names of a page below `root`, from its numbers."""
    file = root / STUDIES / study / FILE
    if not file.exists():
        return {"study": Citation(study, {}, "study")}
    entries = json.loads(file.read_text(encoding="utf-8"))["numbers"]
    values = {name: entry["shown"] for name, entry in entries.items()}
    first = dict.fromkeys(re.split(r"[.(]", name)[0] for name in values)
    return {name: values.get(name, Citation(study, values, name)) for name in first}
