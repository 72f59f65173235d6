"""Written by `python -m docs.build`."""

from pe_lab.contrib.papers.encodings.xsa import XSA as XSA
