"""Corpora that code makes: equal bytes on every machine, without downloads.

The files are in contrib/text. Each has a corpus, as the rows that its function `rows` yields. A
corpus never changes, because runs name it: another text gets another name.
"""

# Name -> hash of its content, in splits.
HASHES = {"sentences": "d4e09403c4b02aa2", "stories": "278c269b19dd5459"}
