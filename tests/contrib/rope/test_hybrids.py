"""The hybrids of configs/speedruns.py, compared with the configs of published models."""

from pe_lab.contrib.rope import rope_parameters
from tests.study_configs import module


def test_hybrids_have_the_layers_of_published_configs():
    hybrids = module("speedruns").HYBRIDS
    for name, family in {"SmolLM3": "smollm3", "Command R7B": "cohere2"}.items():
        published = rope_parameters.read({"model_type": family, "num_hidden_layers": 4})
        assert hybrids[name][0]["layers"] == published[0]["layers"] == (0, 1, 2)
