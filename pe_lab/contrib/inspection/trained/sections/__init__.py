"""The sections of a run's report: for each, its picture, its text and its table."""
