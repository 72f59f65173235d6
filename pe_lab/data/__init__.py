"""Data sets of TFDS, written and read without TensorFlow, and the texts of files."""
