"""A class from a package of the user is found, resolved and built like one of pe_lab."""

import importlib.util
import shutil
import sys
import types
from pathlib import Path

import pytest

from pe_lab import parts
from pe_lab.encodings.base import AttentionEncoding
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import other_packages, plugin_sources, plugins
from pe_lab.runs.settings.plugin import Plugin
from tests import tiny

OWN = """
from typing import Any
from pe_lab.encodings.base import AttentionEncoding

class Tilt(AttentionEncoding):
    def __init__(self, *, slope: float = 0.5, steps: int = 2, head_dim: int):
        self.slope, self.head_dim = slope, head_dim

class Loose(AttentionEncoding):
    def __init__(self, *, size=3, extra: Any = None):
        self.size, self.extra = size, extra

class Stranger:
    pass

def not_a_class():
    pass
"""
FAILS = """
from pe_lab.encodings.base import AttentionEncoding

class Fails(AttentionEncoding):
    def __init__(self):
        {}["slope"]

class Exits(AttentionEncoding):
    def __init__(self):
        raise SystemExit(3)
"""


@pytest.fixture
def own_package(tmp_path, monkeypatch):
    """A user's package `own_codes` with a module `tilt`, and `broken`, which asks for what is not
    installed.
    """
    folder = tmp_path / "own_codes"
    folder.mkdir()
    for name, text in {
        "__init__": "",
        "tilt": OWN,
        "broken": "import no_such_package",
        "typo": "def f(:",
        "exits": "import sys\nsys.exit(3)",
        "fails": FAILS,
    }.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [m for m in sys.modules if m.partition(".")[0] == "own_codes"]:
        del sys.modules[name]


@pytest.mark.usefixtures("own_package")
def test_a_users_own_class_is_found_resolved_and_built():
    resolved = plugins.resolve("encodings", dict(name="own_codes.tilt:Tilt", slope=2))
    assert resolved == Plugin("own_codes.tilt:Tilt", (("slope", 2.0), ("steps", 2)))
    built = plugins.build("encodings", resolved, width=8, head_dim=4)
    assert isinstance(built, AttentionEncoding)
    assert (built.slope, built.head_dim) == (2.0, 4)


@pytest.mark.usefixtures("own_package")
@pytest.mark.parametrize(
    ("family", "name", "words"),
    [
        (
            "encodings",
            "own_codes.tilted:Tilt",
            r"'own_codes\.tilted:Tilt' cannot be imported: ModuleNotFoundError: ",
        ),
        (
            "encodings",
            "no_such_package.tilt:Tilt",
            r"'no_such_package\.tilt:Tilt' cannot be imported: ModuleNotFoundError: No module "
            r"named 'no_such_package'\. "
            r"The folder that holds no_such_package must be the current one, or on PYTHONPATH\.$",
        ),
        (
            "encodings",
            "own_codes.broken:Tilt",
            r"cannot be imported: ModuleNotFoundError: No module named 'no_such_package'\.$",
        ),
        (
            "encodings",
            "own_codes.tilt:Tillt",
            (
                r"own_codes\.tilt has no 'Tillt'\. Did you mean 'Tilt'\? It has: Loose, Stranger, "
                r"Tilt\."
            ),
        ),
        ("encodings", "own_codes.tilt:not_a_class", r"own_codes\.tilt has no 'not_a_class'"),
        (
            "encodings",
            "own_codes.tilt:Stranger",
            r"is none of the encodings: it must extend a class of pe_lab/encodings/base\.py",
        ),
        ("tasks", "own_codes.tilt:Tilt", r"'own_codes\.tilt:Tilt' is none of the tasks"),
        (
            "encodings",
            "own_codes.typo:Tilt",
            r"'own_codes\.typo:Tilt' cannot be imported: SyntaxError: ",
        ),
        (
            "encodings",
            "own_codes.exits:Tilt",
            r"'own_codes\.exits:Tilt' cannot be imported: SystemExit: 3\.$",
        ),
        ("encodings", ":Tilt", "':Tilt' cannot be imported: ValueError: "),
        ("encodings", ".tilt:Tilt", r"'\.tilt:Tilt' cannot be imported: TypeError: "),
    ],
)
def test_a_users_own_class_that_cannot_be_used_is_refused(family, name, words):
    with pytest.raises(UserError, match=words):
        plugins.find(family, name)


@pytest.mark.usefixtures("own_package")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "Fails",
            (
                r"'own_codes\.fails:Fails' cannot be built \(.*fails\.py, line 6\): KeyError: "
                r"'slope'\.$"
            ),
        ),
        (
            "Exits",
            r"'own_codes\.fails:Exits' cannot be built \(.*fails\.py, line 10\): SystemExit: 3\.$",
        ),
    ],
)
def test_an_error_of_a_users_constructor_is_a_sentence_with_its_line(name, words):
    plugin = plugins.resolve("encodings", dict(name=f"own_codes.fails:{name}"))
    with pytest.raises(UserError, match=words):
        plugins.build("encodings", plugin)


@pytest.mark.usefixtures("own_package")
def test_a_users_own_arguments_need_no_types():
    resolved = plugins.resolve("encodings", dict(name="own_codes.tilt:Loose", size=4, extra="x"))
    assert resolved == Plugin("own_codes.tilt:Loose", (("extra", "x"), ("size", 4)))


@pytest.mark.parametrize(
    ("family", "name", "other", "private"),
    [
        ("encodings", "rope", "alibi", "_rope_scaling"),
        ("tasks", "addition", "parity", "_arithmetic"),
        ("tasks", "binary_addition", "subtraction", "_binary"),  # of a part, and of the core
        ("tasks", "regular", "subtraction", "_languages"),
        ("tasks", "language_model", "aligned_text", "data/text_files"),  # named by parts.module
        ("tasks", "language_model", "aligned_text", "data/_tokens"),
        ("tasks", "language_model", "aligned_text", "data/_parts"),
    ],
)
def test_a_digest_covers_the_private_files_that_a_plugin_imports(
    family, name, other, private, tmp_path, monkeypatch
):
    package = tmp_path / "pe_lab"
    shutil.copytree(Path(plugins.__file__).parents[2], package)
    monkeypatch.setattr(parts, "_ROOT", package)
    before = [plugin_sources.source_digest(family, plugin) for plugin in (name, other)]
    private_family, _, private_name = f"{family}/{private}".rpartition("/")
    private_family = private_family.rpartition("/")[2]
    with open(parts.file(private_family, private_name), "a", encoding="utf-8") as file:
        file.write("# changed\n")
    after = [plugin_sources.source_digest(family, plugin) for plugin in (name, other)]
    assert after[0] != before[0]
    assert after[1] == before[1]


NESTED = {
    "apart_helper": "SCALE = 1.0\n",
    "apart/__init__": "",
    "apart/base": "import numpy, pe_lab, json, outer.part\nfrom . import inner\nclass Base: 0\n",
    "apart/inner": "SCALE = 1.0\n",
    "outer/__init__": "SCALE = 1.0\n",
    "outer/part": "",
    "SCALE": "",  # a name of the helper, not a module
    "apart/mine": "from .base import Base\nfrom apart_helper import SCALE\nclass Mine(Base): 0\n",
}


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b"# -*- coding: latin-1 -*-\n# \xe9\n"])
def test_a_file_of_any_encoding_that_python_reads_has_a_digest(tmp_path, monkeypatch, start):
    (tmp_path / "encoded.py").write_bytes(start + b"import encoded_helper\nclass Mine: 0\n")
    (tmp_path / "encoded_helper.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert plugin_sources.source_digest("encodings", "encoded:Mine") is not None
    assert plugin_sources.imported_modules("encoded") == ["encoded_helper"]


def test_a_module_below_a_folder_without_an_init_file_has_a_digest(tmp_path, monkeypatch):
    (tmp_path / "outside" / "inner").mkdir(parents=True)
    (tmp_path / "outside" / "__init__.py").write_text("")
    (tmp_path / "outside" / "inner" / "mine.py").write_text("class Mine: 0\n")
    (tmp_path / "lazy.py").write_text("def load():\n    from outside.inner.mine import Mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "outside" not in sys.modules
    assert plugin_sources.source_digest("encodings", "outside.inner.mine:Mine") is not None
    assert set(plugin_sources.imported_modules("lazy")) == {"outside", "outside.inner.mine"}


def test_modules_of_an_editable_install_are_found_by_its_finder(tmp_path, monkeypatch):
    """Some installs add no folder to the path, but a finder of the package's name."""
    package = tmp_path / "editable_package"
    package.mkdir()
    for name, text in (("__init__", ""), ("mine", "from . import helper\n"), ("helper", "")):
        (package / f"{name}.py").write_text(text)

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == package.name:
                return importlib.util.spec_from_file_location(name, package / "__init__.py")
            return None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    modules = plugin_sources.imported_modules("editable_package.mine")
    assert modules == ["editable_package", "editable_package.helper"]


def test_an_import_of_a_module_without_a_spec_hides_no_other_one(tmp_path, monkeypatch):
    (tmp_path / "whole.py").write_text("import __main__, a_made_module, the_helper\n")
    (tmp_path / "the_helper.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("__main__", "a_made_module"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    assert plugin_sources.imported_modules("whole") == ["the_helper"]


def test_a_family_of_a_record_that_is_no_folder_has_no_digest():
    assert plugin_sources.source_digest(".etc", "y") is None


def test_sources_have_the_modules_that_a_users_class_imports(tmp_path, monkeypatch):
    for package in ("apart", "outer"):
        (tmp_path / package).mkdir()
    for name, text in NESTED.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        other_packages, "installed", lambda family: {"own": "apart.mine:Mine"} if family else {}
    )
    before = tiny.run("rope").sources()
    assert set(before) - {"tasks/copy", "positions/contiguous", "encodings/rope"} == {
        "metrics/apart.mine:Mine",
        "modules/apart",
        "modules/apart.base",
        "modules/apart.inner",
        "modules/apart_helper",
        "modules/outer",
        "modules/outer.part",
    }
    for name in ("apart_helper", "apart/inner", "outer/__init__"):
        (tmp_path / f"{name}.py").write_text("SCALE = 2.0\n", encoding="utf-8")
    after = tiny.run("rope").sources()
    changed = {name for name, digest in after.items() if digest != before[name]}
    assert changed == {"modules/apart_helper", "modules/apart.inner", "modules/outer"}
    assert {name for name, digest in before.items() if plugin_sources.is_changed(name, digest)} == (
        changed
    )
