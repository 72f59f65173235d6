"""Tables that this part adds to those of a study."""
