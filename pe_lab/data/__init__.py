"""Data sets of TFDS, written and read without TensorFlow."""

import importlib.util

from pe_lab.runs.errors import UserError

if importlib.util.find_spec("tensorflow_datasets") is None:
    raise UserError("Text needs tensorflow-datasets: pip install 'pe_lab[text]'.")
