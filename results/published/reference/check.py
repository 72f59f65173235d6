"""Compares the encodings of a port with pe_lab's numbers. It needs NumPy alone."""

import json

import numpy as np


def check(path, label, port, tolerance=2e-5):
    """Assert that `port` computes the outputs of an encoding.

    Args:
      path: of encodings.npz.
      label: of the encoding in this file, such as "rope".
      port: function (inputs, parameters, **arguments) that returns a dict of outputs by name. It
        returns one or more of those that the file has, and these are compared.
      tolerance: absolute, and relative to the file's numbers.
    """
    with np.load(path) as file:
        entries = dict(file)

    def part(prefix):
        return {k.removeprefix(prefix): v for k, v in entries.items() if k.startswith(prefix)}

    arguments = json.loads(str(entries[f"{label}/arguments"]))
    outputs = port(part("inputs/"), part(f"{label}/parameters/"), **arguments)
    expected = part(f"{label}/outputs/")
    assert outputs, "The port returns no outputs."
    for name, value in outputs.items():
        close = dict(rtol=tolerance, atol=tolerance, err_msg=f"{label}: {name}")
        np.testing.assert_allclose(np.asarray(value), expected[name], **close)
    print(f"{label}: {', '.join(outputs)} agree")
