import importlib
import re
import shutil
import sys
from pathlib import Path

import pytest
from flax import nnx

from pe_lab.encodings.base import AttentionEncoding
from pe_lab.runs import plugin_sources, plugins, typed_values
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugin import Plugin

FAMILIES = ("encodings", "positions", "tasks", "training.lengths")
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


def files_of(family):
    others = ("attributes", "base", "batch", "chance_levels", "layouts", "ops", "requirements")
    files = (Path(plugins.__file__).parents[1] / family.replace(".", "/")).glob("[!_]*.py")
    return sorted(file.stem for file in files if file.stem not in others)


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


@pytest.fixture
def drop_in(tmp_path, monkeypatch):
    """Adds files to the folder of the encodings, as far as imports can tell."""
    family = importlib.import_module("pe_lab.encodings")
    folders = [*family.__path__, str(tmp_path)]
    monkeypatch.setattr(family, "__path__", folders)
    monkeypatch.setattr(family.__spec__, "submodule_search_locations", folders)
    yield lambda name, text: (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    for file in tmp_path.glob("*.py"):
        sys.modules.pop(f"pe_lab.encodings.{file.stem}", None)


@pytest.mark.parametrize(
    ("family", "name"), [(family, name) for family in FAMILIES for name in files_of(family)]
)
def test_every_file_is_found_under_its_class(family, name):
    found = plugins.find(family, name)
    assert found.__module__ == f"pe_lab.{family}.{name}"
    assert found.__name__.lower() == name.replace("_", "")


@pytest.mark.parametrize("family", FAMILIES)
def test_names_are_the_files_of_the_folder(family):
    assert plugins.names(family) == files_of(family)


def test_proper_names_are_kept():
    found = [
        plugins.find("encodings", n).__name__
        for n in ("rope", "alibi", "t5_bias", "nope", "raw_index")
    ]
    assert found == ["RoPE", "ALiBi", "T5Bias", "NoPE", "RawIndex"]


def test_a_new_file_is_an_encoding_without_being_registered(drop_in):
    drop_in(
        "fresh",
        "from pe_lab.encodings.base import AttentionEncoding\n"
        "class Fresh(AttentionEncoding):\n"
        "    pass\n",
    )
    assert "fresh" in plugins.names("encodings")
    assert plugins.find("encodings", "fresh").__name__ == "Fresh"


def test_a_file_whose_name_starts_with_an_underscore_is_no_encoding(drop_in):
    drop_in(
        "_fresh",
        "from pe_lab.encodings.base import AttentionEncoding\n"
        "class Fresh(AttentionEncoding):\n"
        "    pass\n",
    )
    with pytest.raises(UserError, match="pe_lab/encodings has no '_fresh'"):
        plugins.find("encodings", "_fresh")


@pytest.mark.parametrize(
    ("classes", "count"),
    [
        ("class One(AttentionEncoding): pass\nclass Two(AttentionEncoding): pass", 2),
        ("class _Hidden(AttentionEncoding): pass", 0),
    ],
)
def test_a_file_with_another_number_of_public_classes_than_one_is_refused(drop_in, classes, count):
    drop_in("odd", f"from pe_lab.encodings.base import AttentionEncoding\n{classes}\n")
    with pytest.raises(
        UserError,
        match=(
            f"pe_lab/encodings/odd.py must define one public class of its family, it defines "
            f"{count}"
        ),
    ):
        plugins.find("encodings", "odd")


@pytest.mark.parametrize(
    ("family", "name", "words"),
    [
        (
            "encodings",
            "ropee",
            r"pe_lab/encodings has no 'ropee'\. Did you mean 'rope'\?$",
        ),
        (
            "positions",
            "randomised",
            r"pe_lab/positions has no 'randomised'\. Did you mean 'randomized'\?",
        ),
        ("tasks", "copi", r"pe_lab/tasks has no 'copi'\. Did you mean 'copy'\?"),
        ("tasks", "layouts", r"pe_lab/tasks has no 'layouts'"),
        ("encodings", "base", r"pe_lab/encodings has no 'base'"),
        ("encodings", "RoPE", r"pe_lab/encodings has no 'RoPE'"),
    ],
)
def test_a_name_without_a_file_is_refused_with_the_near_one(family, name, words):
    with pytest.raises(UserError, match=words):
        plugins.find(family, name)


def test_all_defaults_are_filled_in():
    resolved = plugins.resolve("encodings", dict(name="t5_bias", num_buckets=8))
    assert resolved == Plugin("t5_bias", (("max_distance", 128), ("num_buckets", 8)))
    assert resolved.to_dict() == {"name": "t5_bias", "max_distance": 128, "num_buckets": 8}


def test_resolving_what_is_resolved_changes_nothing():
    once = plugins.resolve("encodings", dict(name="sinusoidal", scale=2.0))
    assert plugins.resolve("encodings", once.to_dict()) == once


def test_rest_parameters_are_inherited_and_a_class_overrides_their_defaults():
    inherited = {"combine": "add", "scale": 1.0, "learn_scale": False}
    assert plugins.resolve("encodings", dict(name="single_sine")).to_dict() == {
        "name": "single_sine",
        "period": 8.0,
        "lift": "project",
        **inherited,
    }
    assert plugins.resolve("encodings", dict(name="multi_sine")).to_dict() == {
        "name": "multi_sine",
        "base": 10000.0,
        "lift": "pad",
        **inherited,
    }


def test_an_inherited_argument_reaches_the_object():
    given = dict(name="sinusoidal", combine="multiply", scale=3.0)
    built = plugins.build(
        "encodings", plugins.resolve("encodings", given), width=4, num_heads=2, rngs=nnx.Rngs(0)
    )
    assert (built.combine, built.scale, built.width) == ("multiply", 3.0, 4)


def test_a_constructor_receives_only_the_context_that_it_asks_for():
    randomized = plugins.build(
        "positions", plugins.resolve("positions", dict(name="randomized", maximum=9)), num_layers=3
    )
    contiguous = plugins.build(
        "positions", plugins.resolve("positions", dict(name="contiguous")), num_layers=3
    )
    assert (randomized.maximum, randomized.num_layers) == (9, 3)
    assert not hasattr(contiguous, "num_layers")


@pytest.mark.parametrize(
    ("family", "spec", "words"),
    [
        (
            "encodings",
            dict(name="rope", bas=3),
            r"rope has no 'bas'\. Did you mean 'base'\?$",
        ),
        (
            "encodings",
            dict(name="sinusoidal", combin="add"),
            r"sinusoidal has no 'combin'\. Did you mean 'combine'\?",
        ),
        (
            "encodings",
            dict(name="rope", head_dim=8),
            r"rope has no 'head_dim'",
        ),  # the model's to say
        ("encodings", dict(name="nope", base=1), r"nope has no 'base'\. It has: nothing\."),
        (
            "positions",
            dict(name="shifted"),
            r"shifted needs max_shift: dict\(name='shifted', max_shift=\.\.\.\)\.",
        ),
        (
            "positions",
            dict(name="shifted", max_shift="9"),
            r"shifted's max_shift must be a whole number, got '9'",
        ),
        (
            "positions",
            dict(name="shifted", max_shift=True),
            r"shifted's max_shift must be a whole number, got True",
        ),
        (
            "positions",
            dict(name="shifted", max_shift=2.0),
            r"shifted's max_shift must be a whole number, got 2\.0",
        ),
        ("encodings", dict(name="rope", base=True), r"rope's base must be a number, got True"),
        ("encodings", dict(name="rope", base="1e4"), r"rope's base must be a number, got '1e4'"),
        ("tasks", dict(name="copy", distinct=1), r"copy's distinct must be True or False, got 1"),
        (
            "encodings",
            dict(name="rope", layout="halff"),
            r"rope's layout has no 'halff'\. Did you mean 'half'\?",
        ),
        (
            "encodings",
            dict(nam="rope"),
            r"One of the encodings is given as dict\(name=\.\.\., \.\.\.\), got \{'nam': 'rope'\}",
        ),
        ("encodings", dict(name=3), r"One of the encodings is given as dict\(name="),
    ],
)
def test_an_argument_that_nothing_takes_is_refused(family, spec, words):
    with pytest.raises(UserError, match=words):
        plugins.resolve(family, spec)


def test_an_argument_may_be_one_of_the_family_itself():
    """A wrapper of another encoding: resolved with its defaults, built with the same context."""
    plain = plugins.resolve(
        "encodings", {"name": "dape", "inner": {"name": "alibi", "form": "causal"}}
    )
    assert dict(plain.arguments)["inner"] == plugins.resolve(
        "encodings", {"name": "alibi", "form": "causal"}
    )
    assert [part.name for part in plain.parts()] == ["dape", "alibi"]
    assert plugins.resolve("encodings", plain.to_dict()) == plain
    built = plugins.build(
        "encodings", plain, width=16, num_heads=2, head_dim=8, bidirectional=False, rngs=nnx.Rngs(0)
    )
    assert built.inner.form == "causal"
    assert plugins.resolve("encodings", {"name": "dape", "inner": "kerple"}).to_dict()["inner"] == {
        "name": "kerple",
        "form": "logarithmic",
    }


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        ("alibbi", "pe_lab/encodings has no 'alibbi'. Did you mean 'alibi'"),
        ({"name": "alibi", "from": "causal"}, "alibi has no 'from'. Did you mean 'form'"),
        ("learned", "dape's inner must be one of the attention encodings, got learned."),
        (3, "One of the encodings is given as dict(name=..., ...), got 3."),
    ],
)
def test_an_argument_of_the_family_that_does_not_fit_is_refused(inner, words):
    with pytest.raises(UserError, match=re.escape(words)):
        plugins.resolve("encodings", {"name": "dape", "inner": inner})


def test_a_whole_number_is_accepted_as_a_number_and_stored_as_one():
    stored = dict(plugins.resolve("encodings", dict(name="rope", base=500000)).arguments)["base"]
    assert (stored, type(stored)) == (500000.0, float)


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [
        ([1, 2], tuple[int, ...], (1, 2)),
        ([1, 2], tuple[float, ...], (1.0, 2.0)),
        (None, int | None, None),
        (3, float | None, 3.0),
    ],
)
def test_lists_become_tuples_and_unions_take_the_first_type_that_fits(value, annotation, expected):
    assert typed_values.checked(value, annotation, "x") == expected


@pytest.mark.parametrize(
    ("value", "annotation", "words"),
    [
        ([1, "a"], tuple[int, ...], r"x\[1\] must be a whole number, got 'a'"),
        ("a", int | None, "x must be a whole number or None, got 'a'"),
        (3, str, "x must be a text, got 3"),
        (5, tuple[int, ...], "x must be a tuple of whole numbers, got 5"),
    ],
)
def test_a_value_of_another_type_is_refused(value, annotation, words):
    with pytest.raises(UserError, match=words):
        typed_values.checked(value, annotation, "x")


def test_a_constructors_refusal_is_the_users_mistake():
    with pytest.raises(UserError, match="the head width must be even, got 3"):
        plugins.build("encodings", plugins.resolve("encodings", dict(name="rope")), head_dim=3)


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
        ("tasks", "subtraction", "parity", "_arithmetic"),
    ],
)
def test_a_digest_covers_the_private_files_that_a_plugin_imports(
    family, name, other, private, tmp_path, monkeypatch
):
    package = tmp_path / "pe_lab"
    shutil.copytree(Path(plugins.__file__).parents[1], package)
    monkeypatch.setattr(plugin_sources, "__file__", str(package / "runs" / "plugin_sources.py"))
    before = [plugin_sources.source_digest(family, plugin) for plugin in (name, other)]
    with open(package / family / f"{private}.py", "a", encoding="utf-8") as file:
        file.write("# changed\n")
    after = [plugin_sources.source_digest(family, plugin) for plugin in (name, other)]
    assert after[0] != before[0]
    assert after[1] == before[1]
