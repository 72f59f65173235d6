"""Commands of this part."""
