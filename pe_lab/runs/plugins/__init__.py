"""Plugins by name: their classes, the permission to import them, and digests of their files."""
