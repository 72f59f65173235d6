from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.text.tasks.aligned_text import AlignedText
from pe_lab.data import made
from pe_lab.runs.errors import UserError

HERE = Path(__file__).parent
SETS = str(HERE.parents[3] / ".cache" / "datasets")
ARGUMENTS = {
    "path": str(HERE),
    "source": "de",
    "target": "en",
    "data_dir": SETS,
}  # numbers.de and numbers.en
VARIANTS = [{}, {"width": 3, "source": "en", "target": "de"}]


def oracle(task, prompt):
    """Return the first line of any split that corresponds to the prompt."""
    for pairs in task._pairs.values():
        for i in range(len(pairs["sizes"])):
            start, end = pairs["source_starts"][i : i + 2]
            if pairs["source"][start:end].tolist() == prompt.tolist():
                start, end = pairs["target_starts"][i : i + 2]
                return pairs["target"][start:end]
    raise ValueError("The prompt is none of the source's lines.")


def of(folder, pairs, **arguments):
    """A task on these lines."""
    for side in (0, 1):
        (folder / f"x.{side}").write_text("".join(pair[side] + "\n" for pair in pairs))
    return AlignedText(
        source=str(folder / "x.0"),
        target=str(folder / "x.1"),
        data_dir=str(folder / "sets"),
        **arguments,
    )


def draw(task, length, count, bound=None, split="train"):
    data = jax.tree.map(jnp.asarray, task.data(split))
    sample = jax.jit(
        jax.vmap(lambda key: task.sample(key, jnp.asarray(length), bound or length, data))
    )
    return jax.tree.map(np.asarray, sample(jax.random.split(jax.random.key(0), count)))


def lines(symbols, mask):
    return [bytes(row[there].tolist()).decode() for row, there in zip(symbols, mask, strict=True)]


SIZES = {
    "a": 1,
    "b": 2,
    "c": 4,
    "d": 6,
    "e": 7,
}  # one source each of many, so that each is in every split


def many(prefixes=SIZES):
    """Pairs whose longer side is that of their kind plus 3, on either side, 20 a kind."""
    both = [
        ((kind * size + f"{i:03d}"), kind) for kind, size in prefixes.items() for i in range(40)
    ]
    return [
        pair if i % 2 else pair[::-1]
        for i, pair in enumerate((long, f"{short}{i:02d}") for i, (long, short) in enumerate(both))
    ]


@pytest.mark.slow
def test_a_length_draws_pairs_whose_longer_side_is_within_its_width(tmp_path):
    """Of 4, 5, 7, 9 and 10, length 9 with width 4 takes 7 and 9, and every pair equally often."""
    task = of(tmp_path, many(), width=4)
    e = draw(task, 9, 2000)
    both = list(zip(lines(e.prompt, e.prompt_mask), lines(e.target, e.target_mask), strict=True))
    assert {max(map(len, pair)) for pair in both} == {7, 9}
    assert (task.prompt_bound(9), task.target_bound(9), task.data("train")["sizes"].dtype) == (
        9,
        9,
        np.int32,
    )
    sizes = task.data("train")["sizes"]
    eligible = int(((sizes > 5) & (sizes <= 9)).sum())
    counts = np.unique([" ".join(pair) for pair in both], return_counts=True)[1]
    assert len(counts) == eligible
    assert abs(counts - 2000 / eligible).max() < 5 * (2000 / eligible) ** 0.5


@pytest.mark.slow
def test_prompt_and_target_are_a_pair_of_the_files_and_of_their_split(tmp_path):
    pairs = many()
    task = of(tmp_path, pairs)
    seen = {}
    for split in ("train", "validation", "test"):
        e = draw(task, 10, 500, bound=12, split=split)
        seen[split] = set(
            zip(lines(e.prompt, e.prompt_mask), lines(e.target, e.target_mask), strict=True)
        )
        assert seen[split] <= set(pairs)
    assert sum(map(len, seen.values())) == len(set.union(*seen.values()))


@pytest.mark.slow
def test_one_program_measures_validation_and_test_and_makes_up_no_pair(tmp_path):
    """A source has up to four targets, so that one split has more pairs than the other."""
    task = of(tmp_path, [(f"{i:03d}", f"{i}x{j}") for i in range(60) for j in range(i % 4 + 1)])
    shapes = [jax.tree.map(jnp.shape, task.data(split)) for split in ("validation", "test")]
    assert shapes[0] == shapes[1]
    pairs = [int((task.data(split)["sizes"] < 9).sum()) for split in ("validation", "test")]
    assert pairs[0] != pairs[1]
    for split, count in zip(("validation", "test"), pairs, strict=True):
        e = draw(task, 4, 300, split=split)
        drawn = set(
            zip(lines(e.prompt, e.prompt_mask), lines(e.target, e.target_mask), strict=True)
        )
        assert all(int(source) == int(target.split("x")[0]) for source, target in drawn)
        assert len(drawn) == count


def test_lengths_are_those_with_pairs_in_every_split(tmp_path):
    """Sides of 4, 5, 7, 9, 10: by widths of 1 there are gaps, and the widest range counts."""
    for width, expected in ((1, (4, 5)), (2, (4, 10)), (16, (4, 10))):
        (tmp_path / str(width)).mkdir()
        task = of(tmp_path / str(width), many(), width=width)
        assert (task.min_length, task.max_length) == expected


def test_without_a_length_for_every_split_it_is_one_sentence(tmp_path):
    task = of(tmp_path, [("1", "1"), ("333", "333"), ("55555", "55555")], width=2)
    with pytest.raises(
        UserError, match="have no length with pairs in every split: give a width above 2"
    ):
        _ = task.max_length


@pytest.mark.slow
def test_one_key_is_one_pair_whatever_the_bound():
    short, long = (draw(AlignedText(**ARGUMENTS), 12, 20, bound) for bound in (12, 14))
    np.testing.assert_array_equal(short.prompt, long.prompt[:, :12])
    np.testing.assert_array_equal(short.target, long.target[:, :12])


def test_umlauts_count_as_the_bytes_that_they_are():
    task = AlignedText(**ARGUMENTS)
    prompt = np.frombuffer("fünf".encode(), np.uint8)
    assert (len(prompt), task.vocabulary.text(prompt.tolist())) == (5, "f xc3 xbc n f")
    assert task.target_vocabulary.text(oracle(task, prompt).tolist()) == "f i v e"
    with pytest.raises(ValueError, match="none of the source's lines"):
        oracle(task, np.array([65]))


@pytest.mark.slow
def test_sentences_are_read_in_both_directions():
    arguments = {"dataset": "sentences", "data_dir": ARGUMENTS["data_dir"]}
    task = AlignedText(source="source", target="target", **arguments)
    other = AlignedText(source="target", target="source", **arguments)
    assert task.corpus == other.corpus == f"corpus/{made.HASHES['sentences']}"
    data = task.data("test")
    assert bytes(data["source"]).startswith(b"the ")
    np.testing.assert_array_equal(data["sizes"], other.data("test")["sizes"])
    assert (task.min_length, task.max_length) == (other.min_length, other.max_length)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (
            {"path": "x", "dataset": "y"},
            "a path or a dataset, not both, got path='x' and dataset='y'",
        ),
        ({"width": 0}, "width must be at least 1, got 0"),
    ],
)
def test_what_it_refuses(arguments, why):
    with pytest.raises(ValueError, match=why):
        AlignedText(source="fr", target="de", **arguments)
