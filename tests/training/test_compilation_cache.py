"""The folder of compiled programs."""

from pathlib import Path

import pytest

from pe_lab.training import devices


@pytest.mark.parametrize(
    ("home", "cache", "parent"),
    [
        ("/home/x", None, "/home/x/.cache"),
        ("/home/x", "/caches", "/caches"),
        ("/home/x", "~/caches", "/home/x/caches"),
        ("~", None, None),  # what Python has for a user without an entry and without HOME
        ("/home/x", "caches", None),
    ],
)
def test_compiled_programs_are_in_a_folder_of_the_user_or_nowhere(monkeypatch, home, cache, parent):
    monkeypatch.setenv("HOME", home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if cache is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", cache)
    folder = devices.cache_folder()
    expected = None if parent is None else Path(parent, "pe_lab", "jax")
    assert (folder.parent if folder else None) == expected


@pytest.mark.parametrize(
    ("home", "variable", "enabled", "used"),
    [
        ("/home/x", None, True, True),
        ("/home/x", None, False, False),
        ("~", None, True, False),  # no folder of the user
        ("~", "/programs", True, True),
        ("/home/x", "/programs", True, True),
    ],
)
def test_compiled_programs_are_kept_where_there_is_a_folder(
    monkeypatch, home, variable, enabled, used
):
    values = {}
    monkeypatch.setattr(devices.jax.config, "update", values.__setitem__)
    monkeypatch.setenv("HOME", home)
    for name in ("XDG_CACHE_HOME", "JAX_COMPILATION_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    if variable is not None:
        monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", variable)
    devices.use_compilation_cache(enabled)
    assert values["jax_enable_compilation_cache"] == used
    own = str(devices.cache_folder()) if used and variable is None else None
    assert values.get("jax_compilation_cache_dir") == own


def test_each_kind_of_cpu_has_a_folder_of_its_own(monkeypatch):
    names = []
    for flags in ("sse avx", "sse avx avx512f", "sse avx"):
        text = f"processor : 0\nflags : {flags}\ncpu MHz : {len(names)}\n"
        monkeypatch.setattr(Path, "read_text", lambda *args, text=text, **encoding: text)
        names.append(devices.cache_folder().name)
    assert (names[0] == names[2], names[0] == names[1]) == (True, False)


def test_a_device_that_jax_does_not_find_is_one_sentence(monkeypatch):
    def fails():
        raise AssertionError

    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    monkeypatch.setattr(devices.jax, "devices", fails)
    assert devices.unusable().startswith(
        "JAX finds no device with JAX_PLATFORMS='cuda' (AssertionError in test_compilation_cache.py"
    )
    monkeypatch.undo()
    assert devices.unusable() is None
