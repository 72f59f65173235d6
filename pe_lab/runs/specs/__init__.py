"""Specs of plugins and overrides in a config, and the agreement of a run's settings."""
