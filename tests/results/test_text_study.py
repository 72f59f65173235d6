"""A study of text has numbers, tables and plots of a text; one of older records keeps its own."""

import math

import pytest

from pe_lab.metrics import negative_log_likelihood_by_place as by_place
from pe_lab.results import frame, plots, tables
from pe_lab.results.plots import pictures, plotted, run_pictures
from pe_lab.runs.records import record_rows
from tests.results.fake_study import point, record, row, write_study
from tests.results.studies import as_dicts, cells

BITS = {"rope": {8: 2.0, 16: 2.5, 32: 3.0}, "alibi": {8: 2.1, 16: 2.0, 32: 1.9}}

VALIDATION = pictures.validation_loss
SIZES = {"train": 8000, "validation": 1000, "test": 999}


def text_record(run_id, seed, bits, *, has_sizes=True, sizes=None):
    """A record of a text; its losses are equal at all indices of a window."""
    made = record(run_id, seed, test=dict.fromkeys(bits, 0.0), max_length=8)
    for length, value in bits.items():
        losses = [value * math.log(2)] * length
        for metric, of_row in ((by_place.METRIC, losses), ("negative_log_likelihood", losses[0])):
            measured = {**made["rows"][0], "metric": metric, "length": length, "value": of_row}
            made["rows"].append(measured)
    made["config"]["task"] = {"name": "language_model", "align": "end", "longest": 32}
    made["config"]["evaluate"] |= {"lengths": [8, 16, 32], "num_examples": 100}
    made["provenance"] = {"corpus": "corpus/0123456789abcdef"}
    if has_sizes:
        made["exposure"] |= sizes or {"corpus_bytes": SIZES}
    for step in (0, 10):
        of_step = {"step": step, "loss": 1.0, "scale_ratio": [], "exact_match": {"8": 0.0}}
        made["curve"].append({**of_step, "validation_loss": {"8": 2.0 - step / 10}})
    return made


def folder_of(folder, analysis=None, **arguments):
    entries = []
    for name, bits in BITS.items():
        for seed in range(2):
            text_run = text_record(f"{name}{seed}", seed, bits, **arguments)
            entries.append((point(name, seed), text_run))
    return write_study(folder, *entries, analysis=analysis)


@pytest.fixture
def study(tmp_path):
    contrasts = {"contrasts": [["alibi", "rope"]]}
    return frame.read(folder_of(tmp_path, {"extrapolation": {"at": 4}, **contrasts}))


def test_the_page_of_a_text_has_bits_and_context_and_no_exact_match(study):
    page = tables.markdown(study)
    assert page.startswith("# fake: bits per byte by length\n")
    assert (
        "Text: corpus/0123456789abcdef, 8,000 bytes in train, 1,000 bytes in validation, 999 "
        "bytes in test. The test scores the same 400 bytes at every length (100 windows)."
    ) in page
    for absent in ("xact match", "solve", "extrapolates", "per token"):
        assert absent not in page
        assert absent not in tables.latex(study)
    by_length, summary = tables.of(study)[:2]
    assert cells(by_length) == [
        ["variant", "8", "→16", "→32"],
        ["rope", "2.000", "2.500", "3.000"],
        ["alibi", "2.100", "2.000", "1.900"],
    ]
    columns = ["at training length", "at 4× the training length"]
    assert cells(summary) == [
        ["variant", *columns, "gain from context", "longest window"],
        ["rope", "2.000", "3.000", "−1.000", "8"],
        ["alibi", "2.100", "1.900", "0.200", "≥ 32"],
    ]


@pytest.mark.parametrize(
    ("sizes", "unit", "ratio"),
    [({}, "token", 1), ({"bytes_per_token": {"validation": 2.0, "test": 4.0}}, "byte", 4)],
)
def test_tokens_have_bits_per_token_or_per_byte_if_their_bytes_are_known(
    tmp_path, sizes, unit, ratio
):
    folder = folder_of(
        tmp_path, {"extrapolation": {"at": 4}}, sizes={"corpus_tokens": SIZES, **sizes}
    )
    study = frame.read(folder)
    assert (study.headline, study.symbol) == (f"bits_per_{unit}", "token")
    page = tables.markdown(study)
    assert page.startswith(f"# fake: bits per {unit} by length\n")
    assert (
        "8,000 tokens in train, 1,000 tokens in validation, 999 tokens in test. The test scores "
        "the same 400 tokens at every length"
    ) in page
    assert f"in bits per {unit}. *gain from context*" in page
    for absent in ("xact match", "solve", "extrapolates", " bytes in"):
        assert absent not in page
    by_length, summary = tables.of(study)[:2]
    assert cells(by_length)[1:] == [
        ["rope", *(f"{bits / ratio:.3f}" for bits in (2.0, 2.5, 3.0))],
        ["alibi", *(f"{bits / ratio:.3f}" for bits in (2.1, 2.0, 1.9))],
    ]
    assert [row[-2:] for row in cells(summary)[1:]] == [
        [f"−{1 / ratio:.3f}", "8"],
        [f"{0.2 / ratio:.3f}", "≥ 32"],
    ]
    lines = tables.as_csv(study).splitlines()
    assert all(f"bits_per_{unit}" in line for line in lines[1:])


def test_a_length_that_is_measured_later_changes_no_number_and_no_count(tmp_path, study):
    entries = [(point("rope", 0), text_record("later", 0, {4: 5.0, **BITS["rope"]}))]
    later = frame.read(write_study(tmp_path / "later", *entries))
    page = tables.markdown(later)
    assert (
        "scores the same 400 bytes at every length (100 windows). Lengths below 8 have no number: "
        "they lack these bytes' context."
    ) in page
    assert cells(tables.of(later)[0]) == [
        ["variant", "4", "8", "→16", "→32"],
        ["rope", "–", "2.000", "2.500", "3.000"],
    ]
    assert "Lengths below" not in tables.markdown(study)


def test_numbers_of_a_text_are_in_the_frames_and_in_the_csv(study):
    numbers = study.numbers
    gains = numbers[numbers["metric"] == "context_gain"].groupby("variant", observed=True)["value"]
    assert gains.mean().to_dict() == pytest.approx({"rope": -1.0, "alibi": 0.2})
    index = study.measured_by_index
    assert index[index["length"] == 32]["index"].unique().tolist() == [
        *range(1, 9),
        10,
        11,
        13,
        16,
        19,
        23,
        27,
        32,
    ]
    assert set(index[(index["length"] == 32)]["value"].round(6)) == {3.0, 1.9}
    losses = study.curves.query("split == 'validation' and metric == 'loss'")
    assert losses["value"].tolist() == [2.0, 1.0] * 4
    lines = tables.as_csv(study).splitlines()
    assert len(lines) == 7
    assert all("bits_per_byte" in line for line in lines[1:])


@pytest.mark.slow
def test_the_plots_of_a_text_are_bits_loss_by_index_and_curves(tmp_path):
    study = frame.read(folder_of(tmp_path / "study"))
    names = {file.stem for file in plots.write(study, tmp_path)}
    assert names == {"bits_per_byte", "loss_by_index", "training", "validation_loss"}


@pytest.mark.slow
def test_the_axes_of_losses_are_in_the_symbols_of_the_text(study):
    data = plotted.of(study)
    labels = [picture(data).axes[0].get_ylabel() for picture in (pictures.training, VALIDATION)]
    assert labels == ["training loss (nats per byte)", "validation loss (bits per byte)"]
    axes = pictures.loss_by_index(data).axes[0]
    axes.figure.canvas.draw()
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert {"4", "16"} <= set(ticks)


def test_older_records_of_a_text_keep_their_tables(tmp_path):
    study = frame.read(folder_of(tmp_path, has_sizes=False))
    assert not study.is_of_text
    assert tables.markdown(study).startswith("# fake: bits per token by length\n")
    assert study.rows_of("bits_per_byte").empty


def tuned(folder):
    """Runs at two rates, of which the lower one has the lower loss; fox has none."""
    entries = []
    for rate, more in (("0.1", 0.0), ("0.2", 0.5)):
        for name, bits in BITS.items():
            at_rate = {length: value + more for length, value in bits.items()}
            run = text_record(f"{name}{rate}", 0, at_rate)
            loss = (1.5 + more) * math.log(2)
            nll = "negative_log_likelihood"
            run["rows"].append(record_rows.row("validation", 8, 0, nll, loss, 100))
            entries.append((point(name, 0, **{"train.learning_rate": rate}), run))
        entries.append((point("fox", 0, **{"train.learning_rate": rate}), f"fox{rate}"))
    analysis = {"extrapolation": {"at": 4}, "tuned": ["train.learning_rate"]}
    return frame.read(write_study(folder, *entries, analysis=analysis))


def test_the_choice_of_a_rate_has_the_loss_in_bits_and_no_solved_settings(tmp_path):
    (table,) = [each for each in tables.of(tuned(tmp_path)) if each.title.startswith("Choice")]
    assert cells(table) == [
        ["variant", "chosen", "validation loss", "0.1", "0.2"],
        ["rope", "0.1 (edge)", "1.500", "3.000", "3.500"],
        ["alibi", "0.1 (edge)", "1.500", "1.900", "2.400"],
        ["fox", "–", "–", "–", "–"],
    ]
    assert table.caption.endswith("at 4× the training length. The loss is in bits per byte.")


@pytest.mark.slow
def test_the_picture_of_learning_rates_has_the_bits_of_a_text(tmp_path):
    figure = run_pictures.learning_rate(plotted.of(tuned(tmp_path)))
    within, beyond = figure.axes
    assert (within.get_title(), beyond.get_title()) == (
        "at the training length",
        "at 4× the training length",
    )
    assert within.get_ylabel() == "bits per byte"
    assert figure.get_suptitle() == "Bits per byte against learning rate"
    lines = {line.get_label(): line for line in beyond.get_legend_handles_labels()[0]}
    assert list(lines["ALiBi"].get_ydata()) == pytest.approx([1.9, 2.4])
    assert lines["ALiBi"].get_markerfacecolor() != "white"


def test_runs_that_did_not_finish_are_named_beside_the_median_of_the_others(tmp_path):
    entries = [(point(name, 0), text_record(name, 0, bits)) for name, bits in BITS.items()]
    for seed, status in enumerate(("diverged", "failed"), start=1):
        run = text_record(f"rope{seed}", seed, {})
        run |= {"status": status, "error": "why", "rows": [], "curve": []}
        entries.append((point("rope", seed), run))
    study = frame.read(write_study(tmp_path, *entries))
    by_length = cells(tables.of(study)[0])
    assert by_length[0][:2] == ["variant", "not finished"]
    assert [row[1] for row in by_length[1:]] == ["1 diverged, 1 failed", "0"]
    assert not {"solved", "extrapolates", "known_outcomes"} & set(as_dicts(study)[0])


def test_a_grid_of_overrides_of_a_text_has_its_bits(tmp_path):
    run = text_record("rope", 0, BITS["rope"])
    for scale in (1, 2):
        losses = [scale * math.log(2)] * 8
        more = dict(override=f"scale={scale}", axes={"scale": str(scale)})
        run["rows"].append(row(by_place.METRIC, 8, losses, **more))
    study = frame.read(write_study(tmp_path, (point("rope", 0), run)))
    (table,) = [each for each in tables.of(study) if each.header[0] == "scale"]
    assert table.title == "Bits per byte by scale and length"
    assert cells(table)[1:] == [["1", "1.000"], ["2", "2.000"]]


def test_a_task_beside_a_text_is_compared_only_if_it_is_solved(tmp_path):
    entries = []
    for name, solved in (("rope", 0.5), ("alibi", 1.0)):
        entries.append((point(name, 0, task="text"), text_record(name, 0, BITS[name])))
        run = record(f"copy{name}", 0, test={16: 0.5}, validation={8: solved}, max_length=8)
        run["rows"].append(row("negative_log_likelihood", 16, 0.1))
        entries.append((point(name, 0, task="copy"), run))
    folder = write_study(tmp_path, *entries, analysis={"contrasts": [["alibi", "rope"]]})
    (table,) = [each for each in tables.of(frame.read(folder)) if each.title == "Contrasts"]
    remarks = [(row[0].text, row[1].text, row[-1].text) for row in table.rows]
    reason = "rope · copy did not solve the training lengths with any seed"
    assert remarks == [
        ("alibi · text against rope · text", "–", ""),
        ("alibi · copy against rope · copy", "0/1, 0/1", f"not compared: {reason}"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [(8, 16), (8, 16, 32, 64)])
def test_every_seed_of_a_text_is_a_dot_between_the_edges_of_its_axes(tmp_path, lengths):
    entries = []
    for index in range(12):
        for seed in range(5):
            bits = dict.fromkeys(lengths, 2.0 + index / 10)
            entries.append((point(f"e{index}", seed), text_record(f"{index} {seed}", seed, bits)))
    figure = pictures.by_length(plotted.of(frame.read(write_study(tmp_path, *entries))))
    figure.canvas.draw()
    num_dots = 0
    for axes in figure.axes:
        for line in axes.lines:
            if line.get_marker() == ".":
                places = line.get_transform().transform(line.get_xydata())
                assert axes.get_window_extent().count_contains(places) == len(places)
                num_dots += len(places)
    assert num_dots == 12 * 5 * len(lengths)
