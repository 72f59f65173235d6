"""The studies of configs/, by name and form."""

import functools
import importlib
import inspect
from pathlib import Path

from pe_lab.sweeps import study

ROOT = Path(__file__).parents[1]
WITH_SMOKE = (
    "alphabet",
    "architectures",
    "budget",
    "combine",
    "context_extension",
    "convolution",
    "exposure",
    "journey",
    "more_seeds",
    "noise",
    "quickstart",
    "real_text",
    "saturation",
    "size_ladder",
    "speedruns",
    "state_tracking",
    "story_gradients",
    "story_grids",
    "story_holes",
    "story_recurrent",
    "story_scale",
    "story_separators",
    "story_sharing",
    "suite_grid",
    "temperature",
    "warm_up",
)
PRESETS = (
    "abacus4",
    "coupling7",
    "enwik8",
    "jelassi3",
    "kazemnejad10",
    "huang8",
    "huang25",
    "lm_extrapolation",
    "mqar",
    "ruoss15",
)  # papers' protocols
SHIPPED = ("base", "quickstart", "suite_grid")


def module(name):
    package = "configs.papers" if name in PRESETS else "configs"
    package = "pe_lab.studies" if name in SHIPPED else package
    return importlib.import_module(f"{package}.{name}")


def path_of(name):
    return module(name).__name__.replace(".", "/") + ".py"


@functools.cache  # the largest study has thousands of runs
def expanded(name, folder=Path("nowhere"), form=""):
    values = of_form(name, "get_config", form).to_dict()
    analysis = of_form(name, "analysis", form) if hasattr(module(name), "analysis") else {}
    return study.expand(name, values, of_form(name, "sweep", form), folder, analysis)


def of_form(name, function, form=""):
    """What a function of a config returns for a form; {} if it is `analysis` without forms."""
    function = getattr(module(name), function)
    if not form:
        return function()
    return function(form) if inspect.signature(function).parameters else {}
