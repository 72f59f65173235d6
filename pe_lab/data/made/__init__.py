"""Corpora that code makes: equal bytes on every machine, without downloads.

Each file has a corpus, as the rows that its function `rows` yields. A corpus never changes, because
runs name it: another text gets another name. The file of `sentences` is in contrib/text.
"""

# Name -> hash of its content, in splits.
HASHES = {"sentences": "d4e09403c4b02aa2", "stories": "278c269b19dd5459"}
