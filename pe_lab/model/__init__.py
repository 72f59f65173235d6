"""The transformer of Vaswani et al. 2017, with hooks where position encodings act."""
