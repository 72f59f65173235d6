"""Generated pages: their templates are rendered from docstrings, classes and committed records.

`python -m docs.build` writes them all; pages.py has the list.
"""
