"""Tasks, training lengths and claims that only the protocols of papers use."""
