"""Records of runs: their fields, rows, files and older versions."""
