"""The check of the files of a study."""
