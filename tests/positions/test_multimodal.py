import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.positions.multimodal import Multimodal
from pe_lab.runs.plugins import plugins
from tests import reference
from tests.marks import full_except

TEXT = [0, 0]
GRID = [[1, 1], [1, 2], [1, 3], [2, 1], [2, 2], [2, 3]]  # 2 x 3


def positions(numbers, segments=None, mask=None, **arguments):
    """Time, height and width of the tokens of one context."""
    numbers = jnp.asarray(numbers)[None]
    mask = jnp.ones(numbers.shape[:2], bool) if mask is None else jnp.asarray(mask, bool)[None]
    segments = None if segments is None else jnp.asarray(segments)[None]
    keys = jax.random.split(jax.random.key(0), 1)
    structure = {"grid": numbers}
    found = Multimodal(**arguments)(keys, mask, segments=segments, structure=structure, train=False)
    return np.asarray(found)[0, 0].T.tolist()


def test_a_text_around_an_image_by_hand():
    """Two tokens, an image of two rows and three columns at 2 that advances by 3, a text at 5."""
    assert positions([TEXT, TEXT, *GRID, TEXT, TEXT]) == [
        [0, 1, 2, 2, 2, 2, 2, 2, 5, 6],
        [0, 1, 2, 2, 2, 3, 3, 3, 5, 6],
        [0, 1, 2, 3, 4, 2, 3, 4, 5, 6],
    ]


def test_a_reset_counts_rows_and_columns_of_every_image_from_zero():
    """An image at 2, a text at 5 as without a reset, and an image of two rows at 6."""
    assert positions([TEXT, TEXT, *GRID, TEXT, [1, 1], [2, 1], TEXT], reset=True) == [
        [0, 1, 2, 2, 2, 2, 2, 2, 5, 6, 6, 8],
        [0, 1, 0, 0, 0, 1, 1, 1, 5, 0, 1, 8],
        [0, 1, 0, 1, 2, 0, 1, 2, 5, 0, 0, 8],
    ]


@pytest.mark.parametrize("name", ["mrope_golden", "mrope_interleaved_golden"])
def test_positions_are_the_golden_values_of_multimodal_ropes(name):
    """An image of 2 x 2 between texts, then the two frames of a video with a text between them."""
    image = [[1, 1], [1, 2], [2, 1], [2, 2]]
    tokens = [*[TEXT] * 6, *image, *[TEXT] * 5, *image, *[TEXT] * 4, *image, *[TEXT] * 2]
    assert np.transpose(positions(tokens)).tolist() == reference.entry(name)["inputs"]["positions"]


def test_a_text_alone_counts_on_all_axes():
    assert positions([TEXT] * 4) == [[0, 1, 2, 3]] * 3


def test_rows_between_separators_are_images_of_one_row():
    """As copy_grid writes a grid: the second row begins at its own first cell."""
    assert positions([[1, 1], [1, 2], TEXT, [2, 1], [2, 2]]) == [
        [0, 0, 2, 3, 3],
        [0, 0, 2, 3, 3],
        [0, 1, 2, 3, 4],
    ]


def test_digits_from_the_most_significant_one_are_a_text():
    """As addition writes 3 digits + 3 digits: the last digit of the first number is [1, 1]."""
    numbers = [[1, 3], [1, 2], [1, 1], TEXT, [2, 3], [2, 2], [2, 1]]
    assert positions(numbers) == [[0, 1, 2, 3, 4, 5, 6]] * 3


def test_a_row_that_begins_to_the_left_of_the_first_cell_is_another_image():
    assert positions([TEXT, [1, 2], [1, 3], [2, 1], [2, 2], [3, 1], TEXT]) == [
        [0, 1, 1, 3, 3, 5, 6],
        [0, 1, 1, 3, 3, 5, 6],
        [0, 1, 2, 3, 4, 5, 6],
    ]


@pytest.mark.parametrize(
    "name",
    full_except(
        ["add_above"],
        ["addition", "subtraction", "multiplication", "bitwise_or", "add_above", "minesweeper"],
    ),
)
def test_positions_are_within_their_bound(name):
    task = plugins.find("tasks", name)()
    length = jnp.int32(task.min_length + 2)
    sample = jax.jit(task.sample, static_argnums=2)
    example = sample(jax.random.key(0), length, int(length))
    for labels, mask in zip(
        example.structure["grid"], (example.prompt_mask, example.target_mask), strict=True
    ):
        found = np.asarray(positions(labels, mask=mask))
        assert found.min() == 0
        assert found.max() <= Multimodal().bound(int(mask.sum()), train=False)


PAGES = {
    "two images": [[2, (2, 3), 1, (3, 2), 2]],
    "two images without a text between them": [[1, (2, 2), (2, 2), 1]],
    "images of one row and of one cell": [[(1, 3), (1, 1), (1, 1), (3, 1), 1]],
    "an image at the start": [[(3, 2), 2, (1, 4)]],
    "a second document that begins with an image": [[1, (2, 3)], [(2, 3), 1]],
    "a second document that begins with a text": [[(3, 1), (1, 2)], [2, (2, 2), 1]],
}


def published(document, reset):
    """Positions of get_rope_index. A block is a text's length, or an image's height and width.

    A block starts at one more than the largest number before it, in Qwen2-VL (transformers at
    00b676f, modeling_qwen2_vl.py) and in Qwen3-VL (at 00709b8, modular_qwen3_vl.py). Their images
    always have a text between them, and they count the positions of each document alone. The
    authors of Multimodal-RoPEs (at 1c8ae64, mrope_i.py) start the token after an image with a reset
    where it starts without one.
    """
    found = []
    next_start = 0
    for block in document:
        start = next_start
        next_start += block if isinstance(block, int) else max(block)
        if isinstance(block, int):
            found += [(start + t,) * 3 for t in range(block)]
        else:
            height, width = block
            first = 0 if reset else start
            found += [(start, first + i, first + j) for i in range(height) for j in range(width)]
    return found


def cells(block):
    if isinstance(block, int):
        return [TEXT] * block
    height, width = block
    return [[row, column] for row in range(1, height + 1) for column in range(1, width + 1)]


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("documents", PAGES.values(), ids=PAGES)
def test_every_block_starts_where_published_models_start_it(documents, reset):
    tokens, segments, expected = [], [], []
    for number, document in enumerate(documents, start=1):
        expected += published(document, reset)
        tokens += [cell for block in document for cell in cells(block)]
        segments += [number] * (len(tokens) - len(segments))
    assert positions(tokens, segments, reset=reset) == np.transpose(expected).tolist()


def test_a_token_depends_on_earlier_tokens_alone():
    """The times of an image do not depend on how far it goes on."""
    whole = positions([TEXT, *GRID, TEXT])
    part = positions([TEXT, *GRID[:4]])
    assert [axis[:5] for axis in whole] == part


@pytest.mark.peers
@pytest.mark.parametrize("sides", [(1, 1), (2, 3), (3, 2), (4, 1)])
def test_positions_are_those_of_qwen2_vl_in_transformers(sides):
    """Two images between texts of 1, 2 and 3 tokens."""
    torch = pytest.importorskip("torch")
    qwen = pytest.importorskip("transformers.models.qwen2_vl.modeling_qwen2_vl")
    height, width = sides
    kinds = [0] + [1] * (height * width) + [0, 0] + [1] * (height * width) + [0] * 3
    grids = torch.tensor([[1, 2 * height, 2 * width]] * 2)  # 2 x 2 patches are one token
    model = qwen.Qwen2VLModel.__new__(qwen.Qwen2VLModel)
    torch.nn.Module.__init__(model)
    model.config = qwen.Qwen2VLConfig()
    ids = torch.zeros((1, len(kinds)), dtype=torch.long)
    expected, _ = model.get_rope_index(ids, torch.tensor([kinds]), image_grid_thw=grids)
    image = [[row, column] for row in range(1, height + 1) for column in range(1, width + 1)]
    found = positions([TEXT, *image, TEXT, TEXT, *image, TEXT, TEXT, TEXT])
    assert found == expected[:, 0].tolist()
