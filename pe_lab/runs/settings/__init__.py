"""Declarations of settings, and their values as plain data and as labels."""
