"""Jinja templates of pages.

Every measured number in a page is a lookup, so no page can state a number that the records do
not have. A template may include other files of results/published.
"""

import functools
from pathlib import Path

import jinja2

from docs.build.published import STUDIES
from docs.build.rounding import at_most, power_at_most


def render(template: str, **lookups: object) -> str:
    """Return the page of a template.

    Raises:
      jinja2.UndefinedError: a lookup does not exist.
    """
    return _environment().from_string(template).render(lookups)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parents[2] / STUDIES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["two"] = _two_digits
    environment.filters["whole"] = "{:,.0f}".format
    environment.filters["at_most"] = functools.partial(at_most, digits=2)
    environment.filters["power_at_most"] = power_at_most
    return environment


def _two_digits(number: float) -> str:
    """Return two digits after the point, with a true minus sign and without "-0.00"."""
    return f"{number:.2f}".replace("-0.00", "0.00").replace("-", "−")
