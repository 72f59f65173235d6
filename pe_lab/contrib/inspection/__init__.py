"""Inspection of position encodings before training, and of trained models."""
