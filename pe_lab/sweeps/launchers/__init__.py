"""Launchers: each only starts cells."""
