"""Sweeps: axes to runs to run groups, and the launchers that start run groups."""
