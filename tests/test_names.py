"""Names that code uses are there. Linters are told to overlook undefined ones: they take
jaxtyping's shapes for names.
"""

import builtins
import dis
import importlib
import pkgutil
import types

import pytest

import pe_lab


def codes(code):
    """A code object and all inside."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def undefined(module):
    whole = compile(module.__loader__.get_source(module.__name__), module.__file__, "exec")
    used = {
        i.argval
        for code in codes(whole)
        for i in dis.get_instructions(code)
        if i.opname == "LOAD_GLOBAL"
    }
    return used - set(vars(module)) - set(vars(builtins))


@pytest.mark.slow
def test_every_global_name_is_defined():
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(pe_lab.__path__, "pe_lab.")
    ]
    assert {module.__name__: names for module in modules if (names := undefined(module))} == {}


def test_an_undefined_name_is_seen(tmp_path, monkeypatch):
    (tmp_path / "careless.py").write_text(
        "import math\n\ndef f():\n    return [math.pi + missing for _ in range(3)]\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert undefined(importlib.import_module("careless")) == {"missing"}
