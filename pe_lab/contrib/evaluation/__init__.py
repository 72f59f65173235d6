"""More evaluations of runs that are trained."""
