"""Launchers: each only starts run groups."""
