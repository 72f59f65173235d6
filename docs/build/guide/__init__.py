"""docs/guide.md: the story of position encodings on one page, every sentence of it with a number or
a picture behind it.
"""
