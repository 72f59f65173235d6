import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs.errors import UserError, described
from pe_lab.runs.paths import user_path
from pe_lab.runs.settings.typed_values import checked, plain


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float64(2.0), 2.0),
        (np.bool_(True), True),
        (jnp.int32(3), 3),
        ([np.int8(1), (np.float16(0.5),)], [1, (0.5,)]),
        ({"a": {"b": np.uint8(7)}}, {"a": {"b": 7}}),
    ],
)
def test_numbers_of_numpy_and_jax_are_plain(value, expected):
    assert repr(plain(value)) == repr(expected)


def test_a_list_that_holds_itself_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="a value has more than 50 levels"):
        plain(endless)


@pytest.mark.parametrize("value", [1e-320, 1e39, -1e39, 1e-38, float("nan"), 10**40])
def test_a_number_that_float32_does_not_have_is_refused(value):
    with pytest.raises(UserError, match=r"^config\.train\.learning_rate must be "):
        checked(value, float, "config.train.learning_rate")


def test_a_whole_number_that_no_float_has_is_refused():
    with pytest.raises(UserError, match=r"^x is too large: float32 ends at 3\.4"):
        checked(10**400, float, "x")


@pytest.mark.parametrize("value", [0.0, -0.0, 2.0**-126, 3.4028234e38, 10**10])
def test_a_number_that_float32_has_is_taken(value):
    assert checked(value, float, "x") == value


def test_an_error_without_a_message_is_described_by_its_line():
    with pytest.raises(AssertionError) as without:
        raise AssertionError
    assert described(without.value).startswith("AssertionError in test_typed_values.py, line ")
    assert described(KeyError("a")) == "KeyError: 'a'"
    assert described(ValueError()) == "ValueError"


def test_a_home_that_is_not_known_gives_no_folder_called_tilde(monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere")
    assert user_path("~/x") == "/somewhere/x"
    assert user_path("a~/~") == "a~/~"
    with pytest.raises(UserError, match="names a home folder that is not known"):
        user_path("~no_such_user_here/x")


def test_an_empty_path_is_not_the_working_directory():
    with pytest.raises(UserError, match=r"^A path is empty: name a file or a folder, or "):
        user_path("")
