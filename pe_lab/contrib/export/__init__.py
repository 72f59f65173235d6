"""Exports of a study to other tools: curves, measurements and weights."""
