"""Position schemes: the position of each token, one scheme per file."""
