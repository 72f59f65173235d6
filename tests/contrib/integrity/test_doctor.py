"""The doctor names what is installed."""

import re
import sys

import pe_lab
from pe_lab import cli


def test_the_doctor_computes_and_names_the_devices(capsys):
    assert cli.run(["doctor"]) == 0
    text = capsys.readouterr().out
    assert f"pe_lab {pe_lab.__version__} in " in text
    assert re.search(r"^JAX devices: (TFRT_CPU_0|cpu:0)", text, re.MULTILINE)
    assert text.endswith("JAX works.\n")


def test_the_doctor_names_the_installation_of_what_is_missing_and_fails_without_jax(
    capsys, monkeypatch
):
    monkeypatch.setattr(
        "pe_lab.contrib.integrity.cli.doctor.find_spec", lambda name: name == "wandb" or None
    )
    monkeypatch.setitem(sys.modules, "jax", None)
    assert cli.run(["doctor"]) == 1
    text = capsys.readouterr().out
    assert "report   not installed, for pe-lab report: pip install 'pe_lab[report]'\n" in text
    assert "writers  without pyarrow, safetensors, tensorboardX, trackio, for pe-lab" in text
    assert "JAX cannot compute: ModuleNotFoundError" in text
