"""Written by `python -m docs.build`."""

from pe_lab.contrib.text.tasks.aligned_text import AlignedText as AlignedText
