"""Members that other installed packages add by name."""

import sys

import pytest

from pe_lab.metrics import base as metrics
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import other_packages, plugins
from pe_lab.training.build import build_setup
from tests import tiny

MODULE = """
from pe_lab.encodings.base import AttentionEncoding
from pe_lab.metrics.base import RunMetric

class Tilt(AttentionEncoding):
    def __init__(self, *, slope: float = 0.5):
        self.slope = slope

class Constant(RunMetric):
    label = "constant"

    def of_run(self, run, offset):
        return 1.0

class Stranger:
    pass
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs a distribution with entry points, given as group -> lines."""
    (tmp_path / "tilted_codes.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "leaving_codes.py").write_text("import sys\nsys.exit(3)", encoding="utf-8")
    (tmp_path / "stopping_codes.py").write_text("raise KeyboardInterrupt", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def write(distribution, **groups):
        folder = tmp_path / f"{distribution}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: {distribution}\nVersion: 1.0\n", encoding="utf-8")
        lines = [f"[pe_lab.{group}]\n{text}\n" for group, text in groups.items()]
        (folder / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
        forget()

    def forget():
        other_packages.installed.cache_clear()
        metrics.by_name.cache_clear()
        metrics.broken.cache_clear()

    yield write
    monkeypatch.undo()
    forget()
    sys.modules.pop("tilted_codes", None)


def test_an_installed_name_is_resolved_to_its_class(install):
    install("tilted", encodings="tilt = tilted_codes:Tilt")
    by_name = plugins.resolve("encodings", {"name": "tilt", "slope": 2})
    by_class = plugins.resolve("encodings", {"name": "tilted_codes:Tilt", "slope": 2})
    assert by_name == by_class
    assert by_name.to_dict() == {"name": "tilted_codes:Tilt", "slope": 2.0}
    assert plugins.find("encodings", "tilt").__name__ == "Tilt"
    assert "tilt" not in plugins.names("encodings")  # of pe_lab's own


def test_an_installed_class_may_be_imported_by_a_command(install, monkeypatch):
    monkeypatch.setenv("PE_LAB_ALLOWED_PLUGINS", "pe_lab")
    with pytest.raises(UserError, match="--allow-plugins=tilted_codes"):
        plugins.find("encodings", "tilted_codes:Tilt")
    install("tilted", encodings="tilt = tilted_codes:Tilt")
    assert plugins.find("encodings", "tilted_codes:Tilt") is plugins.find("encodings", "tilt")
    assert not other_packages.is_allowed("tilted_codes:Stranger")


def test_an_inner_encoding_may_be_an_installed_one(install):
    install("tilted", encodings="tilt = tilted_codes:Tilt")
    outer = plugins.resolve("encodings", {"name": "dape", "inner": "tilt"})
    assert outer == plugins.resolve("encodings", {"name": "dape", "inner": "tilted_codes:Tilt"})


def test_near_names_include_installed_ones(install):
    install("tilted", encodings="tilted_bias = tilted_codes:Tilt")
    with pytest.raises(UserError, match=r"has no 'tilted_bios'\. Did you mean 'tilted_bias'\?"):
        plugins.resolve("encodings", {"name": "tilted_bios"})


def test_a_file_of_pe_lab_wins_over_an_installed_name(install):
    install("tilted", encodings="rope = tilted_codes:Tilt", metrics="auc = tilted_codes:Constant")
    assert plugins.find("encodings", "rope").__module__ == "pe_lab.encodings.rope"
    assert metrics.by_name()["auc"].label != "constant"


def test_two_packages_with_one_name_are_refused(install):
    install("tilted", encodings="tilt = tilted_codes:Tilt")
    install("other", encodings="tilt = other_codes:Tilt")
    with pytest.raises(UserError, match=r"^Two installed packages add 'tilt' to the encodings: "):
        plugins.resolve("encodings", {"name": "tilt"})


def test_an_installed_class_of_another_family_is_refused(install):
    install("tilted", encodings="tilt = tilted_codes:Stranger")
    with pytest.raises(UserError, match=r"^'tilted_codes:Stranger' is none of the encodings"):
        plugins.resolve("encodings", {"name": "tilt"})


def test_an_installed_metric_is_one_of_all_metrics(install):
    install("tilted", metrics="constant = tilted_codes:Constant")
    metric = metrics.by_name()["constant"]
    assert (metric.name, metric.label, metric.of_run(None, 0)) == ("constant", "constant", 1.0)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("tilted_codes:Stranger", "must extend a class of pe_lab.metrics.base"),
        ("tilted_codes:Missing", "cannot be imported: AttributeError"),
        ("no_such_codes:Metric", "cannot be imported: ModuleNotFoundError"),
        ("leaving_codes:Metric", "cannot be imported: SystemExit: 3"),
        ("stopping_codes:Metric", "cannot be imported: KeyboardInterrupt"),
    ],
)
def test_an_installed_metric_that_is_none_is_left_out_of_tables_and_refused_in_training(
    install, path, message
):
    install("tilted", metrics=f"constant = {path}")
    assert "constant" not in metrics.by_name()
    assert "exact_match" in metrics.by_name()
    with pytest.raises(
        UserError, match=f"^The metric 'constant' of an installed package, .*{message}"
    ):
        build_setup(tiny.run("rope"))
