import jax
import numpy as np

from pe_lab.contrib.probes.tasks.item_after_separator import ItemAfterSeparator
from tests.tasks.drawing import drawn, said

VARIANTS = [{}, dict(num_symbols=3, max_width=1, max_index=2), dict(max_width=7, max_index=40)]
CHANCE_LEVELS = [
    (dict(num_symbols=4), 5, "exact_match", 1 / 4, 1),
]
REFUSALS = [
    (dict(num_symbols=1), "two symbols or more, got num_symbols=1"),
    (dict(max_width=0), "ItemAfterSeparator's max_width must be at least 1, got 0."),
    (dict(max_index=0), "ItemAfterSeparator's max_index must be at least 1, got 0."),
]


def oracle(task, prompt):
    items, query = task.vocabulary.text(prompt.tolist()).split(" : ")
    item = items.split(" / ")[int(query.removeprefix("#"))]
    return np.array([int(item.split()[0])])


def test_the_item_is_counted_in_separators_and_not_in_tokens():
    task = ItemAfterSeparator()
    assert said(task, "3 3 / 4 / 0 0 0 / 7 : #2") == "0"
    assert said(task, "3 / 4 4 4 4 / 0 / 7 : #2") == "0"
    assert said(task, "3 3 / 4 / 0 0 0 / 7 : #3") == "7"


def words_of(task, length, count=1000):
    examples = drawn(task, length, count)
    prompts = [row[mask] for row, mask in zip(examples.prompt, examples.prompt_mask, strict=True)]
    return [task.vocabulary.text(prompt.tolist()).split(" : ") for prompt in prompts]


def test_widths_and_indices_are_uniform():
    """4000 items of 4 widths: 1000 each, standard deviation 27; 3 indices of 1000: 333, 15."""
    task = ItemAfterSeparator()
    texts = words_of(task, 4)
    widths = [len(item.split()) for items, _ in texts for item in items.split(" / ")]
    np.testing.assert_allclose(np.bincount(widths)[1:], 1000, atol=135)
    indices = [int(query[1:]) for _, query in texts]
    np.testing.assert_allclose(np.bincount(indices)[1:], 333, atol=75)


def test_a_longer_list_has_no_larger_index_than_the_largest():
    texts = words_of(ItemAfterSeparator(max_index=2), 6, 100)
    assert {query for _, query in texts} == {"#1", "#2"}


def test_the_structure_marks_the_separators_of_the_list_and_no_position_of_the_answer():
    task = ItemAfterSeparator(num_symbols=4)
    examples = drawn(task, 5, 20)
    prompt, target = examples.structure["separators"]
    np.testing.assert_array_equal(prompt, examples.prompt == 4)
    assert (prompt.sum(axis=1) == 4).all()
    assert not target.any()
    assert (examples.structure["coupled"][1] == 0).all()


def test_attributes_by_hand():
    task = ItemAfterSeparator(max_width=1)
    examples = drawn(task, 6, 30)
    queries = examples.prompt[:, -1] - 17
    values = {
        name: jax.vmap(lambda e, a=attribute: a.value(task, e))(examples)
        for name, attribute in task.attributes.items()
    }
    np.testing.assert_array_equal(values["index"], queries)
    # One token an item: item k is token 2 k of 13, which the answer follows.
    np.testing.assert_array_equal(values["longest_distance"], 13 - 2 * queries)
