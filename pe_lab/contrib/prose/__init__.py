"""The numbers of a study as text, for pages and papers."""
