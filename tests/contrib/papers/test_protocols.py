"""The protocols of configs/papers have the training data, rates and runs of the authors."""

from pathlib import Path

import jax
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.minesweeper import _SEPARATOR
from pe_lab.sweeps import study
from pe_lab.tasks import _grids
from pe_lab.training.build import build_setup
from tests.study_configs import module, of_form
from tests.tasks.cases import parts, rows
from tests.tasks.drawing import sample

COUNT = 1200
WITH_SCALED_FORM = (
    "abacus4",
    "coupling7",
    "enwik8",
    "huang25",
    "huang8",
    "jelassi3",
    "kazemnejad10",
    "lm_extrapolation",
    "mqar",
    "ruoss15",
)


def points(name, form=""):
    return of_form(name, "sweep", form)


def labels(point):
    return [choice.label for choice in point.values() if choice.label]


def run_of(name, *wanted, form=""):
    """The first run of a protocol that has these labels."""
    values = of_form(name, "get_config", form)
    point = next(p for p in points(name, form) if {*wanted} <= {*labels(p)})
    (run,) = study.expand(name, values.to_dict(), [point], Path("unused"), {}).runs
    return run


def training_examples(run):
    """Examples whose lengths are drawn as in training."""
    setup = build_setup(run)
    train = run.train
    lengths = np.arange(train.min_length, train.max_length + 1)
    keys = jax.random.split(jax.random.key(0), COUNT)
    drawn = jax.vmap(lambda key: setup.lengths.draw(key, lengths, 0))(keys)
    examples = sample(setup.task, keys, np.asarray(drawn), train.max_length)
    return setup.task, list(rows(examples))


def chi_square(counts, expected):
    """In units of its standard deviation, so that 5 is a rare value."""
    counts = np.asarray(counts)
    degrees = counts.size - 1
    return (((counts - expected) ** 2 / expected).sum() - degrees) / np.sqrt(2 * degrees)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["", "scaled"])
@pytest.mark.parametrize(
    ("name", "task", "sign"),
    [
        ("coupling7", "addition", "+"),
        ("coupling7", "three operands", "+"),
        ("coupling7", "N x 2 multiplication", "*"),
        ("abacus4", "addition", "+"),
        ("abacus4", "multiplication", "*"),
        ("kazemnejad10", "addition", "+"),
    ],
)
def test_each_operand_of_training_has_a_uniform_number_of_digits(name, task, sign, form):
    if (name, task, form) == ("abacus4", "multiplication", "scaled"):
        pytest.skip("the scaled form has no multiplication")
    run = run_of(name, task, form=form)
    arithmetic, examples = training_examples(run)
    longest = run.train.max_length
    operands = [arithmetic.operands_of(parts(example)[0], sign) for example in examples]
    num_counted = 1 if getattr(arithmetic, "other_digits", None) else len(operands[0])
    for i in range(num_counted):
        digits = [arithmetic.num_written_digits(each[i]) for each in operands]
        counts = np.bincount(digits, minlength=longest + 1)[1:]
        assert abs(chi_square(counts, COUNT / longest)) < 5


def test_pairs_of_operands_are_equally_frequent_in_kazemnejad10():
    arithmetic, examples = training_examples(run_of("kazemnejad10", "addition"))
    counts = np.zeros((8, 8))
    for example in examples:
        first, second = arithmetic.operands_of(parts(example)[0], "+")
        counts[len(first) - 1, len(second) - 1] += 1
    assert counts.sum() == COUNT
    assert abs(chi_square(counts, COUNT / 64)) < 5


@pytest.mark.parametrize("form", ["", "scaled"])
def test_both_sides_of_a_training_board_of_minesweeper_are_uniform(form):
    run = run_of("coupling7", "minesweeper", form=form)
    _, examples = training_examples(run)
    num_sides = run.train.max_length - 4
    counts = np.zeros((num_sides, num_sides))
    for example in examples:
        prompt = parts(example)[0]
        height = int((prompt == _SEPARATOR).sum()) + 1
        width = (len(prompt) - height + 1) // height
        assert _grids.longer_side(prompt, _SEPARATOR) == max(height, width)
        counts[height - 5, width - 5] += 1
    assert abs(chi_square(counts, COUNT / num_sides**2)) < 5


def test_mqar_trains_64_passes_without_clipping():
    train = run_of("mqar").train
    assert train.steps * train.batch_size == 64 * train.num_examples
    assert train.clip_norm > 1e6


@pytest.mark.parametrize(
    ("name", "ratio"), [("mqar", 1.0), ("huang8", 1.0), ("huang25", 1.0), ("ruoss15", 6.25)]
)
def test_learned_positions_start_at_the_authors_ratio_to_tokens(name, ratio):
    setup = build_setup(run_of(name, "learned", form="scaled"), trained=False)
    model = setup.model(setup.initial_params(0))
    (stack,) = model.stacks.values()
    (learned,) = stack.input_encodings
    tokens = stack.embedding_scale * stack.embedding.embedding[...]
    assert np.std(learned.table[...]) / np.std(tokens) == pytest.approx(ratio, rel=0.15)


@pytest.mark.parametrize(
    ("start", "tokens", "positions"),
    [("start 0.02", 0.02, 0.02), ("start 0.125", 0.125, 0.125), ("start 1", 1, 0.02)],
)
def test_starts_of_huang25_have_the_deviations_in_their_names(start, tokens, positions):
    setup = build_setup(run_of("huang25", start, "untied", form="start"), trained=False)
    (stack,) = setup.model(setup.initial_params(0)).stacks.values()
    (learned,) = stack.input_encodings
    table = stack.embedding_scale * stack.embedding.embedding[...]
    assert np.std(table) == pytest.approx(tokens, rel=0.05)
    assert np.std(learned.table[...]) == pytest.approx(positions, rel=0.05)


@pytest.mark.parametrize("name", ["huang8", "huang25"])
@pytest.mark.parametrize(("form", "trained"), [("", 50), ("scaled", 12)])
def test_bins_of_huang_have_the_mean_length_of_uniform_lengths(name, form, trained):
    tested = of_form(name, "get_config", form).evaluate.lengths
    for first, last in ((trained + 1, 2 * trained), (2 * trained + 1, 3 * trained)):
        lengths = [length for length in tested if first <= length <= last]
        assert np.mean(lengths) == (first + last) / 2
    assert of_form(name, "analysis", form)["extrapolation"]["length"] in tested


def test_cells_of_huang_with_twelve_layers_are_not_said_to_be_solved():
    big = [task for task, sizes in module("huang8").SIZES.items() if sizes[1][0] == 12]
    assert big == ["bin_majority_interleave", "parity", "addition"]
    source = module("huang8").AUTHORS
    assert "or of any five with 12 layers" in source
    assert all(task in source for task in big)


def rates_and_encodings(task):
    found = {}
    for point in points("abacus4"):
        if task in labels(point):
            rate = point.get("train.learning_rate")
            found[point["model.encodings"].label] = rate and rate.value
    return found


def test_abacus4_has_the_rates_and_runs_of_the_authors_scripts():
    combined = {"fire": None, "abacus": None, "abacus + fire": None}
    assert rates_and_encodings("addition") == {"nope": None} | combined
    assert rates_and_encodings("bitwise or") == {"nope": None} | combined
    assert rates_and_encodings("sort") == combined
    assert rates_and_encodings("multiplication") == {
        "fire": 6e-5,
        "abacus": None,
        "abacus + fire": 6e-5,
    }
    assert module("abacus4").get_config().train.learning_rate == 1e-4


def test_coupling7_has_the_batches_and_tests_of_the_authors_scripts():
    expected = {
        "addition": ((1000, 1000), 200),
        "three operands": ((1000, 800), 200),
        "N x 2 multiplication": ((1000, 1000), 200),
        "copy": ((1000, 1000), 300),
        "reverse": ((1000, 1000), 200),
        "parity with scratchpad": ((20, 20), 100),
    }
    for task, (batches, tested) in expected.items():
        runs = [run_of("coupling7", task, encoding) for encoding in ("coupled", "nope")]
        assert tuple(run.train.batch_size for run in runs) == batches
        assert {max(run.evaluate.lengths) for run in runs} == {tested}
    minesweeper = run_of("coupling7", "coupled in the grid")
    assert (minesweeper.train.batch_size, max(minesweeper.evaluate.lengths)) == (800, 15)
    # A board of 15 rows with its separators.
    assert dict(minesweeper.model.encodings[0].arguments)["max_positions"] >= 15 * 16


@pytest.mark.parametrize("name", WITH_SCALED_FORM)
def test_a_scaled_form_has_five_seeds_or_more(name):
    seeds = {point["seed"].value for point in points(name, "scaled")}
    assert len(seeds) >= 5


@pytest.mark.parametrize("name", WITH_SCALED_FORM)
def test_a_scaled_form_shows_no_figures_of_lengths_that_it_does_not_test(name):
    figures = [
        figure
        for source in of_form(name, "analysis", "scaled").get("literature", ())
        for figure in source["figures"]
    ]
    for variant, length, _ in figures:
        run = run_of(name, *variant.split(" · "), form="scaled")
        first, last = (length, length) if isinstance(length, int) else length
        assert any(first <= tested <= last for tested in run.evaluate.lengths)


def test_the_literature_form_of_huang25_trains_the_small_cells_of_the_authors():
    form = "literature"
    runs = {
        (*labels(point),): run_of("huang25", *labels(point), form=form)
        for point in points("huang25", form)
    }
    sizes = {
        label[:2]: (run.model.num_layers, run.model.num_heads, run.model.width)
        for label, run in runs.items()
    }
    assert sizes == {
        ("unique_copy", "learned"): (2, 1, 64),
        ("bin_majority", "learned"): (1, 1, 16),
        ("bin_majority", "nope"): (1, 1, 16),
    }
    assert {(run.train.steps, run.train.max_length) for run in runs.values()} == {(30_000, 50)}
    assert {point["seed"].value for point in points("huang25", form)} == {*range(5)}
    (source,) = of_form("huang25", "analysis", form)["literature"]
    published = {variant: value for variant, bin_, value in source["figures"] if bin_ == (51, 100)}
    assert published == {
        "unique_copy · learned": 0.9986,
        "bin_majority · learned": 0.9999,
        "bin_majority · nope": 1.0,
    }
