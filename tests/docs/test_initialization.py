import json

import pytest

from docs.build import initialization
from tests import models, tiny


@pytest.mark.slow
def test_logits_have_a_row_for_each_head_width_scale_and_seed():
    rows = initialization.logits(models.settings(num_layers=1), (8, 16), (4,))
    assert [(r["head_width"], r["scale_logits"], r["seed"]) for r in rows] == [
        (8, True, 4),
        (8, False, 4),
        (16, True, 4),
        (16, False, 4),
    ]
    scaled, unscaled = rows[2], rows[3]
    assert unscaled["variance"] == pytest.approx(16 * scaled["variance"], rel=1e-4)


@pytest.mark.slow
def test_gradients_have_a_row_for_each_encoding_length_and_seed():
    rows = initialization.gradients(tiny.values(model__num_layers=1), (2, 9), (0,))
    assert [(r["encoding"], r["length"]) for r in rows] == [
        (name, length) for name in ("raw_index", "normalized", "sinusoidal") for length in (2, 9)
    ]
    assert len({r["norm"] for r in rows}) == 6


def test_a_lookup_is_the_median_with_the_range_of_the_seeds(tmp_path):
    rows = [
        {"head_width": 16, "scale_logits": scaled, "seed": seed, "variance": value}
        for scaled, values in ((True, (1.04, 1.0, 1.2)), (False, (1600.0,) * 3))
        for seed, value in enumerate(values)
    ]
    gradients = [{"encoding": "rope", "length": 4, "seed": 0, "norm": 0.123}]
    file = tmp_path / "record.json"
    file.write_text(json.dumps({"logits": rows, "gradients": gradients}))
    initial = initialization.Initial(file)
    assert initial.seeds == "3"
    assert initial.scale("variance", 16, scaled=True) == "1.0 [1.0, 1.2]"
    assert initial.scale("variance", 16, scaled=False) == "1,600"
    assert initial.gradient("rope", 4) == "0.12"
