"""What do published hybrids of rotated and unrotated layers do to length?

    pe-lab sweep configs/hybrids.py
    pe-lab sweep configs/hybrids.py:smoke  # a small form

Decoders of four layers, the period of all these patterns, with the layers of published models.
Layers count from 0.

- SmolLM3: layer 3 has no position encoding, and the others have RoPE (transformers 5.24.0,
  models/smollm3, no_rope_layer_interval = 4).
- Llama 4: the same, with attention in chunks on the layers with RoPE, and a temperature that grows
  with the position on layer 3 (models/llama4). Its norm of rotated queries and keys on the layers
  with RoPE (use_qk_norm), which has no learned scale, is left out: `qk_norm` acts on all layers.
- Command R7B: a window on the layers with RoPE, and none on layer 3 (models/cohere2). This is
  RNoPE-SWA of Yang et al. 2025, https://arxiv.org/abs/2501.18795.
- SWAN: as Command R7B, but layer 0 has no position encoding and layers 1 to 3 do. In a second
  evaluation, logits of layer 0 are multiplied by a logarithm of the position. Puvvada et al. 2025,
  https://arxiv.org/abs/2504.08719, of which summaries were read: a layer without RoPE is the first
  of four, and a constant of the logarithm, log(a + n), is fitted to text. Here the factor is 1 up
  to the training length, and 1 + log of the ratio to it beyond.
- DroPE: RoPE is dropped from a trained model, which is trained for a quarter of the steps more at
  the same lengths. Gelberg et al. 2025, https://arxiv.org/abs/2512.12167.

All have RoPE's base 10000, so that layers alone differ. Published bases are larger. Chunks and
windows have half of the longest training example, and the temperature starts at its whole length.
Two hybrids are missing. Three of four layers of Kimi Linear (https://arxiv.org/abs/2510.26692) are
gated linear mixers, which pe_lab does not have; the fourth has attention without a position
encoding. The frequencies of RoPE-ID (https://arxiv.org/abs/2603.18017) could not be read; a share
of channels and a small base are rope(fraction=..., base=...).

504 runs on three tasks of suite_grid, with its lengths, steps, rates and seeds. Not
trained yet.
"""

from pe_lab.runs import grid
from pe_lab.studies import suite_grid

FORMS = ("smoke",)

NUM_LAYERS = 4
_ROTATED, _UNROTATED = (0, 1, 2), (3,)
_ROTATED_OF_SWAN, _UNROTATED_OF_SWAN = (1, 2, 3), (0,)
_TRAINED = 34  # tokens of the longest training example
_TASKS = ("copy", "copy repeated", "recall")


def get_config(form=""):
    c = suite_grid.get_config(form)
    c.model.num_layers = NUM_LAYERS
    return c


def encodings():
    """The encodings of each model that is trained from the start, by its name."""
    rope = dict(name="rope", layers=_ROTATED)
    chunks = dict(name="chunks", size=_TRAINED // 2, layers=_ROTATED)
    window = dict(name="sliding_window", size=_TRAINED // 2, layers=_ROTATED)
    temperature = dict(name="position_temperature", start=_TRAINED, layers=_UNROTATED)
    rope_of_swan, window_of_swan = (dict(e, layers=_ROTATED_OF_SWAN) for e in (rope, window))
    return {
        "rope": (dict(name="rope"),),
        "nope": (dict(name="nope"),),
        "SmolLM3": (rope,),
        "Llama 4": (rope, chunks, temperature),
        "Command R7B": (rope, window),
        "SWAN": (rope_of_swan, window_of_swan),
    }


def sweep(form=""):
    models, seeds = encodings(), suite_grid.SEEDS
    rates = {"train.learning_rate": suite_grid.RATES}
    of_tasks = {name: suite_grid.TASKS[name] for name in _TASKS}
    if form == "smoke":
        models = {name: models[name] for name in ("rope", "Llama 4")}
        rates = {"train.learning_rate": (1e-3,)}
        of_tasks, seeds = {"copy": (suite_grid.TASKS["copy"][0], 4, 12)}, 1
    points = []
    for name, model in models.items():
        points += grid.product(
            {"model.encodings": [grid.labelled(name, model)]}, _overrides(name, model)
        )
    quarter = {name: (task, length, steps // 4) for name, (task, length, steps) in of_tasks.items()}
    rope = dict(model=dict(encodings=(dict(name="rope", layers=None),)))  # and not SmolLM3
    parent = dict(select=rope, match=("seed", "task", "train.learning_rate"))
    dropped = {
        "model.encodings": [grid.labelled("DroPE", (dict(name="nope"),))],
        "init_from": [grid.labelled("", parent)],
    }
    return grid.concat(
        grid.product(points, suite_grid.tasks(of_tasks), rates, {"seed": range(seeds)}),
        grid.product(dropped, suite_grid.tasks(quarter), rates, {"seed": range(seeds)}),
    )


def _overrides(name, model):
    """SWAN is also evaluated with scaled logits, which it was not trained with."""
    if name != "SWAN":
        return {}
    scaled = dict(
        name="position_temperature",
        start=_TRAINED,
        steps=False,
        rate=1.0,
        layers=_UNROTATED_OF_SWAN,
    )
    override = dict(label="scaled logits", encodings=(*model, scaled))
    return {"evaluate.overrides": [grid.labelled("", (override,))]}


def analysis(form=""):
    if form == "smoke":
        return {}
    of_swan = ("SWAN", "SWAN, evaluated with scaled logits")
    hybrids = ("SmolLM3", "Llama 4", "Command R7B", *of_swan, "DroPE")
    return dict(
        question="What do hybrids of rotated and unrotated layers do to length?",
        contrasts=(
            *(dict(a=name, b="rope", at=2) for name in hybrids),
            dict(a="SWAN, evaluated with scaled logits", b="SWAN", at=2),
            dict(a="DroPE", b="nope", at=2),
        ),
        tuned=("train.learning_rate",),
    )
