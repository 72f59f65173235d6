"""The study of hybrids, compared with the configs of published models."""

from pe_lab.contrib.rope import rope_parameters
from tests.study_configs import module


def test_hybrids_have_the_layers_of_published_configs():
    encodings = module("hybrids").encodings()
    num_layers = module("hybrids").NUM_LAYERS
    for name, family in {
        "SmolLM3": "smollm3",
        "Llama 4": "llama4_text",
        "Command R7B": "cohere2",
    }.items():
        published = rope_parameters.read({"model_type": family, "num_hidden_layers": num_layers})
        assert encodings[name][0]["layers"] == published[0]["layers"] == (0, 1, 2)
