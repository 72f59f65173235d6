"""Training and evaluation of one cell: many replicas in one compiled program."""
