"""The config that measures the step time of encodings."""

import pytest

from configs import encoding_costs
from pe_lab.runs import config
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.sweeps.study import expand
from pe_lab.training.build import build_setup

VARIANTS = [point["model.encodings"].value[0] for point in encoding_costs.sweep()]
WITH_SCHEME = [encoding for encoding in VARIANTS if "positions" in encoding]


def run_of(encoding):
    c = encoding_costs.get_config()
    c.model.encodings = (encoding,)
    return config.from_dict(c.to_dict())


def test_every_encoding_has_a_variant_or_a_reason():
    names = [run_of(encoding).model.encodings[0].name for encoding in VARIANTS]
    assert names[0] == "nope"
    assert sorted([*names, *encoding_costs.EXCEPTIONS]) == plugins.names("encodings")


def test_every_option_is_one_run_and_the_first_has_none(tmp_path):
    c = encoding_costs.get_config("options")
    points = encoding_costs.sweep("options")
    study = expand("encoding_costs_options", c.to_dict(), points, tmp_path)
    names = [entry.labels["model.learned_sinks"] for entry in study.entries]
    assert names == list(encoding_costs.OPTIONS)
    assert len(study.runs) == len(names)
    assert study.runs[0].model == config.from_dict(c.to_dict()).model


@pytest.mark.slow
@pytest.mark.parametrize("encoding", WITH_SCHEME, ids=str)
def test_copy_has_what_the_schemes_of_variants_read(encoding):
    build_setup(run_of(encoding))  # checks it


@pytest.mark.slow
@pytest.mark.parametrize("name", encoding_costs.EXCEPTIONS)
def test_an_exception_cannot_be_built(name):
    run = run_of({"name": name, "positions": "multimodal"})
    with pytest.raises(UserError, match=r"^copy has no structure 'grid', which the scheme"):
        build_setup(run)
