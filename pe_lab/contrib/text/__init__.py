"""Corpora of text for language_model, prepared and described."""
