"""The documentation site: Sphinx pages from docs, from published studies, and from docstrings.

`make site` builds it; open build/site/index.html.
"""
