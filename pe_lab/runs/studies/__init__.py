"""Files of a study: its runs, its labels and its analysis spec, and first steps of runs."""
