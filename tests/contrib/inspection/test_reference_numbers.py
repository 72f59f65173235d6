"""results/published/reference: the numbers of the library, with which ports are compared."""

import contextlib
import re
import runpy
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.inspection import reference_numbers
from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.model.attention import attend
from pe_lab.model.terms import LayerEncoding, attention_terms

FOLDER = Path(__file__).parents[3] / "results" / "published" / "reference"
FILE = FOLDER / "encodings.npz"
SPECS = reference_numbers.specs()
check = runpy.run_path(str(FOLDER / "check.py"))["check"]


def port(label):
    """The library, with the interface of a port."""

    def outputs(inputs, parameters, **_):
        encoding = reference_numbers.build(SPECS[label])
        reference_numbers.set_parameters(encoding, parameters)
        return reference_numbers.outputs(encoding, inputs)

    return outputs


def test_the_file_has_every_encoding_and_is_small():
    with np.load(FILE) as file:
        labels = {name.partition("/")[0] for name in file.files} - {"inputs"}
    message = (
        "write the file again: pe-lab reference --out=results/published/reference/encodings.npz"
    )
    assert labels == set(SPECS), message
    assert FILE.stat().st_size < 2_000_000


def test_the_inputs_are_those_of_the_library():
    with np.load(FILE) as file:
        for name, value in reference_numbers.inputs().items():
            np.testing.assert_array_equal(file[f"inputs/{name}"], value)


@pytest.mark.slow
@pytest.mark.parametrize("label", SPECS)
def test_the_library_computes_the_numbers_of_the_file(label):
    returned = {}

    def recorded(inputs, parameters, **arguments):
        returned.update(port(label)(inputs, parameters))
        return returned

    check(FILE, label, recorded)
    prefix = f"{label}/outputs/"
    with np.load(FILE) as file:
        names = {name.removeprefix(prefix) for name in file.files if name.startswith(prefix)}
    assert set(returned) == names


@pytest.mark.parametrize("label", ["fox", "rope", "rotary_value", "stick_breaking"])
def test_the_output_is_that_of_the_models_attention(label):
    """`attend` runs the same hooks in a model."""
    inputs = reference_numbers.inputs()
    encoding = reference_numbers.build(SPECS[label])
    assert isinstance(encoding, AttentionEncoding)
    positions = jnp.asarray(inputs["positions"])[None]
    slots = jnp.arange(positions.shape[1])[None]
    q, k, v, x = (jnp.asarray(inputs[name])[None] for name in ("queries", "keys", "values", "x"))
    of_queries, of_keys = encoding.features(x, positions)
    Q, K = (Tokens(positions, slots, features=f) for f in (of_queries, of_keys))
    causal = jnp.tri(positions.shape[1], dtype=bool)[None, None]
    terms = attention_terms([LayerEncoding(encoding, None, Q, K)], causal)
    expected = attend(q, k, v, terms)[0]
    computed = reference_numbers.outputs(encoding, inputs)["output"]
    np.testing.assert_allclose(computed, expected, atol=1e-6)


def test_the_program_of_the_page_is_two_ports_that_agree(monkeypatch, capsys):
    (program,) = re.findall(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)
    monkeypatch.chdir(FOLDER)
    monkeypatch.syspath_prepend(FOLDER)
    with contextlib.ExitStack() as stack:
        stack.callback(sys.modules.pop, "check", None)
        exec(compile(program, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed == "alibi: bias agree\nrope: queries, keys agree\n"


def test_a_port_with_an_error_is_refused_and_named():
    def rope(inputs, parameters, **arguments):
        return {"queries": inputs["queries"]}

    with pytest.raises(AssertionError, match="rope: queries"):
        check(FILE, "rope", rope)
    with pytest.raises(AssertionError, match="The port returns no outputs"):
        check(FILE, "rope", lambda inputs, parameters, **arguments: {})


def test_parameters_are_moved_from_their_start():
    start = {"table": np.zeros((3, 2), np.float32)}
    moved = reference_numbers._moved("learned", start)
    assert (moved["table"] != 0).all()
    again = reference_numbers._moved("learned", start)
    np.testing.assert_array_equal(moved["table"], again["table"])
