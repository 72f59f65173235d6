"""Data sets of TFDS, written and read without TensorFlow."""
