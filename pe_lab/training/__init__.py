"""Training and evaluation of one run group: many members in one compiled program."""
