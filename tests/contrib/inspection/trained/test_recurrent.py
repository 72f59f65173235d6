"""A recurrent model has no attention to look into."""

import pytest

from pe_lab.contrib.inspection.trained.loaded_model import LoadedModel
from pe_lab.runs.errors import UserError
from pe_lab.training.build import build_setup
from pe_lab.training.trained_runs import TrainedRun
from tests import tiny
from tests.model.test_recurrent import RECURRENT


def test_its_attention_cannot_be_inspected():
    run = tiny.config.from_dict(tiny.values(**RECURRENT))
    trained = TrainedRun(build_setup(run), {}, {})
    with pytest.raises(UserError, match=r"has no attention to inspect: .* is 'lstm'\.$"):
        LoadedModel(trained, (3,))
