"""The page of suite_grid:sort, which is that of suite_grid:copying for another task."""

import functools

from results.published.suite_grid_copying import page

lookups = functools.partial(page.of_page, form="sort")
draw = functools.partial(page.draw_form, form="sort")
