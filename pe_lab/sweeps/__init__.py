"""Sweeps: axes to runs to cells, and the launchers that start cells."""
