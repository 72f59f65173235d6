"""Numbers that the designs of configs declare and that no table of a study prints."""
