"""Texts that stay in their files, for language_model."""
