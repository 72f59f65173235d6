import dataclasses

import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.run import Run
from pe_lab.runs.settings import declarations
from pe_lab.runs.settings.declarations import declared_settings, older_values, setting
from pe_lab.runs.settings.settings import Train
from pe_lab.studies import base


@dataclasses.dataclass(frozen=True, kw_only=True)
class Oven:
    temperature: float = setting(180.0, "Degrees.", above=0, at_most=300)
    minutes: int = setting(20, "Minutes.", at_least=1)
    humidity: float = setting(0.5, "Share.", below=1, in_all_records=False)
    mode: str = setting("fan", "Heating.", in_all_records=False, older="plain")
    racks: tuple[int, ...] = setting((), "Heights.", in_all_records=False)


def test_a_declaration_has_the_default_the_meaning_and_the_bounds():
    declared = declared_settings(Oven)
    assert list(declared) == ["temperature", "minutes", "humidity", "mode", "racks"]
    assert declared["temperature"].default == 180.0
    assert declared["temperature"].meaning == "Degrees."
    assert [d.bounds for d in declared.values()] == [
        "more than 0, at most 300",
        "at least 1",
        "in [0, 1)",
        "",
        "",
    ]


def test_only_settings_that_older_records_lack_have_a_value_in_them():
    assert older_values(Oven) == {"humidity": 0.5, "mode": "plain", "racks": []}
    with pytest.raises(TypeError, match="minutes"):
        Oven(temperature=1.0, **older_values(Oven))


def test_the_reader_checks_types_and_bounds_and_names_the_field():
    values = {"temperature": 200, "minutes": 5, "color": "red"}
    read = declarations.read(Oven, values, "the oven's {}".format)
    assert read == {"temperature": 200.0, "minutes": 5}
    assert isinstance(read["temperature"], float)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (dict(minutes=0), "the oven's minutes must be at least 1, got 0."),
        (dict(minutes=1.5), "the oven's minutes must be a whole number, got 1.5."),
        (dict(temperature=0), "the oven's temperature must be more than 0, got 0.0."),
        (dict(temperature=301), "the oven's temperature must be at most 300, got 301.0."),
        (dict(humidity=1.0), "the oven's humidity must be in [0, 1), got 1.0."),
        (dict(humidity=-0.5), "the oven's humidity must be in [0, 1), got -0.5."),
    ],
)
def test_a_value_outside_of_its_declaration_is_refused(values, sentence):
    with pytest.raises(UserError) as refused:
        declarations.read(Oven, values, "the oven's {}".format)
    assert str(refused.value) == sentence


def test_the_base_config_has_exactly_the_declared_settings_with_their_types():
    config = base.get_config()
    assert set(config) == {*base.groups(), *declared_settings(Run), "launcher"} - {""}
    assert set(config.train) == {field.name for field in dataclasses.fields(Train)}
    assert config.train.clip_norm == 1.0
    with pytest.raises(TypeError):
        config.train.clip_norm = "large"
    config.train.criterion = 0.9  # may also be a name or None
    config.train.criterion = None
    config.model.sliding_window = 4
    with pytest.raises(TypeError):
        config.model.sliding_window = "wide"


def test_a_change_of_one_config_changes_no_other():
    base.get_config().task.name = "sort"
    assert base.get_config().task.name == "copy"
