from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from pe_lab.contrib.papers.tasks.mixture import Mixture
from pe_lab.contrib.probes.tasks.copy_grid import CopyGrid
from pe_lab.runs import config, grid
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.runs.run import from_record
from pe_lab.runs.settings import labels
from pe_lab.runs.specs import override_specs, plugin_specs
from pe_lab.studies import base
from pe_lab.tasks.addition import Addition
from pe_lab.tasks.base import COMPONENT, numerals
from pe_lab.tasks.copy import Copy
from pe_lab.tasks.parity import Parity
from pe_lab.tasks.reverse import Reverse
from pe_lab.training import splits
from tests import tiny
from tests.tasks.drawing import drawn, oracle_of

ARGUMENTS = {"tasks": ("copy", "reverse")}
VARIANTS = [
    {},
    {"tasks": ("stack_manipulation", "dyck"), "task_token": False, "weights": (1.0, 3.0)},
    {"tasks": ("copy_grid", "keyed_sort", "flip_flop")},  # structures, and given tokens
]
BOTH = Mixture((Copy(num_symbols=6), Reverse(num_symbols=8)), weights=(1.0, 3.0))


def names_of(vocabulary):
    return vocabulary.names or numerals(vocabulary.num_symbols)


def oracle(task, prompt, given=None):
    """The oracle of the component that the first token names, or whose symbols are all there."""
    words = [task.vocabulary.names[symbol] for symbol in prompt]
    if task.task_token:
        first, *words = words
        component = task.tasks[int(first.removeprefix("task"))]
    else:
        component = next(t for t in task.tasks if set(words) <= set(names_of(t.vocabulary)))
    symbols = [names_of(component.vocabulary).index(word) for word in words]
    target_names = names_of(component.target_vocabulary)
    arguments = []
    if component.gives_tokens:
        read = [target_names.index(task.vocabulary.names[s]) if s >= 0 else -1 for s in given]
        arguments = [np.array(read, int)]
    target = oracle_of(component)(component, np.array(symbols, int), *arguments)
    return np.array([task.vocabulary.names.index(target_names[s]) for s in target], int)


def components_of(examples):
    """The component of each example, by its first token."""
    return np.asarray(examples.prompt)[:, 0] - 8  # the symbols of BOTH are 0..7


@pytest.mark.slow
def test_an_example_worked_by_hand():
    assert BOTH.vocabulary.names == (*"01234567", "task0", "task1")
    assert oracle(BOTH, np.array([9, 3, 1, 2])).tolist() == [2, 1, 3]
    examples = drawn(BOTH, 3)
    for i in range(20):
        token, *string = examples.prompt[i].tolist()
        order = -1 if token == 9 else 1
        assert examples.target[i].tolist() == string[::order]
        assert examples.alignment[i].tolist() == [1, 2, 3][::order]


@pytest.mark.slow
def test_components_are_drawn_as_often_as_their_weights():
    examples = drawn(BOTH, 4)
    components = components_of(examples)
    counts = np.bincount(components, minlength=2)
    assert stats.chisquare(counts, [250, 750]).pvalue > 1e-3
    np.testing.assert_array_equal(examples.structure[COMPONENT][1][:, 0], components)
    assert set(components_of(drawn(BOTH.components[0], 4))) == {0}
    assert set(components_of(drawn(BOTH.components[1], 4))) == {1}


@pytest.mark.slow
def test_the_task_token_has_labels_of_its_own():
    (prompt, _), (coupled, answer) = (drawn(BOTH, 3).structure[n] for n in (COMPONENT, "coupled"))
    assert (prompt[:, 0] == -1).all()
    assert (prompt[:, 1:] >= 0).all()
    assert (coupled == [0, 1, 2, 3]).all()
    assert np.isin(answer, [1, 2, 3]).all()
    symbols, _ = drawn(BOTH, 3).structure["symbols"]
    assert (symbols == [False, True, True, True]).all()


@pytest.mark.slow
def test_a_redraw_keeps_the_component():
    keys = jax.random.split(jax.random.key(3), 64)
    new_keys = jax.vmap(BOTH.redraw_key)(keys)
    draw = jax.vmap(BOTH._draw_component)
    np.testing.assert_array_equal(draw(keys), draw(new_keys))
    assert (jax.random.key_data(keys) != jax.random.key_data(new_keys)).any(axis=1).all()


@pytest.mark.full
@pytest.mark.parametrize("held_out", [False, True])
def test_held_out_inputs_leave_the_weights_as_they_are(held_out):
    """Most strings of parity are too short to be held out where those of copy are."""
    mixture = Mixture((Copy(), Parity()), weights=(1.0, 1.0))
    rule = splits.rule(mixture)
    alone = [splits.rule(task).min_length for task in mixture.tasks]
    assert rule.min_length >= max(alone) > min(alone)
    count = 2000
    keys = jax.random.split(jax.random.key(0), count)
    lengths = jnp.full(count, rule.min_length)
    bound = rule.min_length
    examples = splits.draw(mixture, rule, keys, lengths, bound, held_out=held_out)
    assert (jax.vmap(rule.holds_out)(examples) == held_out).all()
    counts = np.bincount(examples.structure[COMPONENT][1][:, 0], minlength=2)
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.slow
def test_a_mixture_with_few_inputs_of_one_component_holds_out_nothing():
    few = Mixture((Copy(), Copy(num_symbols=3)))
    assert splits.rule(Copy()).min_length is not None
    assert splits.rule(few) == splits.Rule(None)


@pytest.mark.slow
def test_training_draws_no_longer_input_of_the_component_with_shorter_ones():
    """Copies of 9 symbols are as long as additions of 4 digits."""
    mixture = Mixture((Copy(), Addition()))
    trained = splits.trained(mixture, splits.Rule(None), 1, 4)
    assert trained.sizes[0] < trained.sizes[1]
    examples = drawn(mixture, 5, 200)
    can_draw = jax.vmap(lambda e: trained.can_draw(e, jnp.asarray(5)))(examples)
    component = examples.structure[COMPONENT][1][:, 0]
    assert not can_draw[component == 0].any()
    assert set(component) == {0, 1}


@pytest.mark.slow
def test_a_one_symbol_string_stays_in_training_behind_a_task_token():
    mixture = Mixture((Parity(), Parity(ones="independent")))
    examples = drawn(mixture, 3)
    words = np.asarray(examples.prompt)[:, 1:]
    is_constant = (words == words[:, :1]).all(axis=1)
    assert 0 < is_constant.mean() < 1
    np.testing.assert_array_equal(jax.vmap(splits._one_symbol)(examples), is_constant)


def test_bounds_are_those_of_the_components_that_are_drawn():
    mixture = Mixture((Copy(num_symbols=10), Addition()))
    copy, addition = mixture.components
    assert copy.prompt_bound(4) == 1 + 4 < addition.prompt_bound(4) == mixture.prompt_bound(4)
    assert (copy.max_length, addition.max_length, mixture.max_length) == (10, None, 10)
    assert copy.vocabulary == addition.vocabulary == mixture.vocabulary


SPEC = dict(name="mixture", tasks=(dict(name="copy", num_symbols=6), "reverse"), weights=(1, 2))


def test_a_run_keeps_its_components_in_records_and_labels():
    run = tiny.run(task=SPEC)
    assert from_record(run.to_dict()) == run
    assert from_record(run.to_dict()).run_id == run.run_id
    assert {"tasks/mixture", "tasks/copy", "tasks/reverse"} <= run.sources().keys()
    assert labels.label(SPEC) == "mixture(tasks=(copy(num_symbols=6), reverse), weights=(1, 2))"
    (parsed,) = labels.parse(labels.label(SPEC))
    assert plugins.resolve("tasks", parsed) == run.task


def test_the_pages_example_measures_each_component_alone():
    page = Path(__file__).parents[4] / "docs" / "tasks.md"
    section = page.read_text(encoding="utf-8").partition("## Mixtures of tasks")[2]
    code = section.partition("```python\n")[2].partition("```")[0]
    names = {"c": base.get_config(), "grid": grid}
    exec(compile(code, str(page), "exec"), names)
    run = config.from_dict(names["c"].to_dict())
    of_components = []
    for override in run.evaluate.overrides:
        task = plugins.build("tasks", override.task)
        of_components.append((override.axes, task))
    axes = [(("evaluated weights", name),) for name in ("copy", "reverse")]
    components = plugins.build("tasks", run.task).components
    assert of_components == list(zip(axes, components, strict=True))


def test_a_label_of_an_override_writes_weights_as_a_tuple():
    run = tiny.run(task=SPEC)
    override = override_specs.override(dict(task=dict(weights=(1.0, 0.0))), run)
    assert override.label == "weights=(1.0, 0.0)"


@pytest.mark.slow
def test_a_component_alone_has_the_structures_of_the_mixture():
    mixture = Mixture((CopyGrid(), Copy()))
    alone = drawn(mixture.components[1], 3)
    assert alone.structure.keys() == drawn(mixture, 3).structure.keys() >= {"grid"}
    assert not any(labels.any() for labels in alone.structure["grid"])


@pytest.mark.full
def test_the_held_out_inputs_do_not_depend_on_the_weights():
    """Strings of parity that are long enough to be held out are too long to be copied."""
    mixture = Mixture((Copy(num_symbols=10), Parity()))
    assert splits.rule(Parity()).min_length > mixture.max_length
    rules = [splits.rule(task) for task in (mixture, *mixture.components)]
    assert rules == [splits.Rule(None)] * 3


def test_evaluation_gives_the_operands_of_a_component_their_exact_length():
    task = plugins.resolve("tasks", dict(name="mixture", tasks=("copy", "addition")))
    exact = dict(plugin_specs.evaluated_task(task, "longest").arguments)["tasks"]
    assert exact[0] == plugins.resolve("tasks", {"name": "copy"})
    assert dict(exact[1].arguments)["lengths"] == "one_longest"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"tasks": ()}, "mixture's tasks must hold a task"),
        ({"tasks": "copy"}, r"mixture's tasks must be a tuple of dict\(name=\.\.\., \.\.\.\), got"),
        ({"tasks": ("copi",)}, r"pe_lab/tasks has no 'copi'. Did you mean 'copy'"),
        ({"tasks": ({"name": "copy", "symbols": 3},)}, "copy has no 'symbols'"),
        ({"weights": (1.0,)}, "mixture needs one weight for each of its 2 tasks, got 1"),
        ({"weights": (1.0, -1.0)}, "weights must be at least 0, and one more than 0"),
        ({"weights": (0.0, 0.0)}, "weights must be at least 0, and one more than 0"),
        ({"tasks": ("copy", "scan")}, "tasks draw from keys alone, and Scan reads data"),
        (
            {"tasks": ({"name": "mixture", "tasks": ("copy",)},)},
            "mixture's tasks cannot be mixtures",
        ),
    ],
)
def test_a_mixture_that_makes_no_sense_is_refused_with_a_sentence(arguments, sentence):
    spec = {"name": "mixture", **ARGUMENTS, **arguments}
    with pytest.raises(UserError, match=sentence):
        plugins.build("tasks", plugins.resolve("tasks", spec))


@pytest.mark.parametrize(
    ("tasks", "structure", "causal", "revealed"),
    [
        ((Copy(), Reverse()), "coupled", False, "answer"),
        ((Copy(), Reverse()), "coupled", True, None),
        ((Copy(), Reverse()), "symbols", False, None),
        ((Copy(),), "coupled", False, None),
    ],
)
def test_coupled_numbers_of_a_whole_target_show_its_component(tasks, structure, causal, revealed):
    assert Mixture(tasks).reveals(structure, causal) == revealed
