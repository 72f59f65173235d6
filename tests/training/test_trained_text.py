"""Records of models that are trained on a text."""

import numpy as np
import pytest

from pe_lab.tasks.language_model import LanguageModel
from tests import tiny


@pytest.mark.slow
def test_a_model_that_sees_few_tokens_has_equal_loss_at_all_longer_lengths(tmp_path):
    (tmp_path / "text").write_bytes(b"".join(b"%06d" % i for i in range(5000)))
    task = {"name": "language_model", "path": str(tmp_path / "text"), "longest": 64, "align": "end"}
    group = tiny.group(
        "nope",
        task={**task, "data_dir": str(tmp_path / "sets")},
        model__num_layers=1,
        model__sliding_window=8,
        layout__end_token=False,
        train__min_length=16,
        train__max_length=16,
        evaluate__lengths=(16, 32, 64),
        evaluate__curve_lengths=(16,),
        evaluate__curve_examples=16,  # those of the validation
        seeds=1,
    )
    record = tiny.train(tmp_path, group)[0]
    assert [list(point["validation_loss"]) for point in record["curve"]] == [["16"]] * 3
    (loss,) = [
        row["value"]
        for row in record["rows"]
        if (row["split"], row["metric"]) == ("validation", "negative_log_likelihood")
    ]
    assert record["curve"][-1]["validation_loss"]["16"] == pytest.approx(loss, rel=1e-6)
    assert record["curve"][0]["validation_loss"]["16"] > loss + 0.1
    metric = "negative_log_likelihood_by_place"
    rows = [r for r in record["rows"] if r["metric"] == metric and r["split"] == "test"]
    last = [row["value"][row["length"] - 6 : row["length"]] for row in rows]
    assert len(last) == 3
    np.testing.assert_allclose(last[1:], [last[0]] * 2, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_a_record_has_the_name_of_the_text_with_its_hash_and_its_sizes(tmp_path):
    arguments = {"path": __file__, "data_dir": str(tmp_path / "sets")}
    task = LanguageModel(**arguments)
    config = {"name": "language_model", **arguments}
    record = tiny.train(tmp_path, tiny.group(task=config, layout__end_token=False, seeds=1))[0]
    assert record["provenance"]["corpus"] == task.corpus
    sizes = {split: int(task.data(split)["size"]) for split in ("train", "validation", "test")}
    assert record["exposure"]["corpus_bytes"] == sizes
