"""Tasks that probe what a position encoding can address: an index, an offset, a row of a grid."""
