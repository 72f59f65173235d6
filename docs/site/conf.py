"""Configuration of Sphinx. `python -m docs.site` writes the pages and calls Sphinx."""

from pathlib import Path

from sphinx.application import Sphinx

import pe_lab
from docs.site import docstrings, mathml, sources

project = "pe_lab"
author = "The pe_lab authors"
copyright = f"2026, {author}"
version = release = pe_lab.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc"]
exclude_patterns = ["assets", sources.LIST]

smartquotes = False  # they would change --flags

# The pages are read in the repository too: formulas are fenced, and headings have anchors.
myst_fence_as_directive = ["math"]
myst_enable_extensions = ["dollarmath"]  # in the tour
myst_heading_anchors = 3
myst_url_schemes = {"http": None, "https": None, "mailto": None, "source": {"url": "{{path}}"}}
nb_render_markdown_format = "myst"  # tables
nb_execution_mode = "off"  # the committed outputs are shown, and a test runs the notebook

autodoc_member_order = "bysource"
python_maximum_signature_line_length = 90
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"pe_lab {release}"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}


def setup(app: Sphinx) -> None:
    mathml.setup(app)
    app.connect("autodoc-process-docstring", docstrings.rewrite)
    app.connect("autodoc-process-signature", docstrings.signature)
    app.connect("html-collect-pages", sources.collect)
