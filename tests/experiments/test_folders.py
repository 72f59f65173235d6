"""Folders that are replaced."""

import os

from experiments import folders
from pe_lab.runs.system import files
from tests.runs.system.test_files import content


class Killed(BaseException):
    pass


def test_a_folder_is_replaced_and_a_kill_at_any_call_loses_neither(tmp_path, monkeypatch):
    source, target = tmp_path / "source", tmp_path / "to" / "target"
    (source / "sources").mkdir(parents=True)
    (source / "study.json").write_text("new")
    (source / "sources" / "a.py").write_text("new too")
    new, old = content(source), {"study.json": "old", "cost.json": "old"}
    calls = 0
    for last in range(100):
        for name, text in old.items():
            files.write_text(target / name, text)

        def until(function, last=last):
            def call(*args, **options):
                nonlocal calls
                calls += 1
                if calls > last:
                    raise Killed
                return function(*args, **options)

            return call

        calls = 0
        with monkeypatch.context() as patch:
            for name in ("open", "replace", "rename", "fsync", "rmdir", "unlink"):
                patch.setattr(os, name, until(getattr(os, name)))
            try:
                folders.replace_folder(source, target)
            except Killed:
                finished = False
            else:
                finished = True
        if not target.exists():
            assert content(target.with_name(".target.before")) == old
        else:
            assert content(target) in (old, new)
        folders.replace_folder(source, target)
        assert (content(target), os.listdir(target.parent)) == (new, ["target"])
        folders.replace_folder(source, target)
        if finished:
            break
        for name in new:
            (target / name).unlink()
    assert 8 < last < 99
