"""The examples that evaluation looks at: drawn with keys of their own, or read as they were frozen.

An example depends on its task, split, length and index alone, so that a frozen set holds what would
be drawn. Training never draws the input of one where the length has enough inputs (splits.py).
"""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from pe_lab.runs import plugins
from pe_lab.runs.errors import UserError
from pe_lab.runs.labels import label
from pe_lab.runs.plugins import Plugin
from pe_lab.tasks.base import Example, Task, Vocabulary
from pe_lab.training import splits
from pe_lab.training.step import EVALUATION, Setup, fold, stream_key

SPLITS = ("validation", "test")  # a split's place is folded into its keys
SEED = 0

Row = Mapping[
    str, Any
    # an example without padding: "length", "prompt" and "target", of these "symbols" and what goes
    # with them
]
Counts = Mapping[tuple[str, int], int]  # split and length -> examples, those of the indices from 0


def keys(split: Array | int, length: Array | int, index: Int[Array, "b"]) -> Array:
    """The key of each example: of the split's place in SPLITS, the length and the index."""
    key = jax.random.key(SEED)
    for name in (EVALUATION, split, length):
        key = stream_key(key, name)
    return fold(key, index)


def sample(
    task: Task, rule: splits.Rule, keys: Array, length: Array, bound: int, data: Any = None
) -> Example:
    """One evaluation example a key, in the shapes of length `bound`."""
    lengths = jnp.broadcast_to(length, keys.shape)
    return splits.draw(task, rule, keys, lengths, bound, data, held_out=True)


def can_be_trained(made: Setup, examples: Example, length: Array) -> Array:
    """Which of the examples have inputs that training can draw."""
    if made.trained_inputs is None:
        return jnp.zeros(len(examples.prompt), bool)
    can_draw = functools.partial(made.trained_inputs.can_draw, made.split_rule)
    return jax.vmap(can_draw, in_axes=(0, None))(examples, length)


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _drawn(
    task: Task, rule: splits.Rule, bound: int, count: int, split: Array, length: Array, data: Any
) -> Example:
    return sample(task, rule, keys(split, length, jnp.arange(count)), length, bound, data)


def draw(task: Task, counts: Counts) -> Iterator[tuple[str, int, Example]]:
    """Split, length and the examples of each place, in the shapes of the longest."""
    bound, most = max(length for _, length in counts), max(counts.values())
    for split in SPLITS:
        data = jax.tree.map(jnp.asarray, task.data(split))
        for length, count in sorted((n, count) for (s, n), count in counts.items() if s == split):
            found = _drawn(
                task,
                splits.rule(task),
                bound,
                most,
                jnp.asarray(SPLITS.index(split)),
                jnp.asarray(length),
                data,
            )
            yield (
                split,
                length,
                jax.tree.map(lambda leaf, count=count: np.asarray(leaf[:count]), found),
            )


def as_text(task: Task, length: int, count: int) -> Iterator[tuple[str, str]]:
    """Prompt and target of the first test examples of a length; what of a target is given stands in
    [square brackets].
    """
    ((_, _, examples),) = draw(task, {("test", length): count})
    for i in range(count):
        prompt, target = (
            examples.prompt[i][examples.prompt_mask[i]],
            examples.target[i][examples.target_mask[i]],
        )
        said = [task.target_vocabulary.text([s]) for s in target.tolist()]
        given = ~examples.asked[i][examples.target_mask[i]]
        yield (
            task.vocabulary.text(prompt.tolist()),
            " ".join(f"[{w}]" if g else w for w, g in zip(said, given, strict=True)),
        )


@dataclasses.dataclass(frozen=True)
class Written:
    """A frozen set on disk."""

    path: Path
    task: str
    count: int
    digest: str  # of the examples
    new: bool


def freeze(task: Plugin, counts: Counts, folder: Path) -> Written:
    """Writes what would be drawn into a folder of frozen sets, unless it is there.

    Raises:
      UserError: the task has no examples of a length, or what is there is not what would be drawn.
    """
    from pe_lab.data import frozen  # imports TFDS, which takes a second

    made = plugins.build("tasks", task)
    for length in sorted({n for _, n in counts}):
        if length < made.min_length or length > (made.max_length or length):
            raise UserError(f"{label(task.to_dict())} has no examples of length {length}.")
    about = _about(task, counts)
    rows: dict[str, list[Any]] = {split: [] for split in sorted({split for split, _ in counts})}
    for split, length, examples in draw(made, counts):
        rows[split] += rows_of(length, examples)
    which = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:12]
    symbols = {
        side: [v.text([i]) for i in range(v.num_symbols)] for side, v in _vocabularies(made).items()
    }
    found, new = frozen.write(
        folder,
        f"{task.name.rpartition(':')[2].lower()}-{which}",
        about,
        _description(made, task),
        rows,
        symbols,
    )
    return Written(found.path, label(task.to_dict()), sum(counts.values()), found.sha256, new)


class Frozen:
    """The frozen sets of a task in a folder.

    Raises:
      UserError: the folder has none of the task with these arguments, or of another version.
    """

    def __init__(self, folder: Path, task: Plugin):
        from pe_lab.data import frozen

        self.folder, self.name, self.task = (
            folder,
            label(task.to_dict()),
            plugins.build("tasks", task),
        )
        there, wanted = frozen.sets(folder), _about(task, {})
        if not there:
            raise UserError(
                f"{folder} holds no frozen examples: python -m experiments.freeze --config=… "
                f"--out={folder} writes them."
            )
        mine = [each for each in there if {**each.about, "counts": {}} == wanted]
        if not mine:
            others = "; ".join(
                sorted(
                    {f"{label(each.about['task'])} of seed {each.about['seed']}" for each in there}
                )
            )
            raise UserError(
                f"{folder} holds no frozen examples of {self.name} of seed {SEED}, but of {others}."
            )
        self.sets = [each for each in mine if each.version == frozen.VERSION]
        if not self.sets:
            raise UserError(
                f"{folder} holds {self.name} frozen in version {mine[0].version}; this pe_lab "
                f"reads {frozen.VERSION}."
            )
        self.rows = functools.cache(self._rows)
        self.used: set[str] = set()  # sha256 of the sets that rows were taken from

    def _rows(self, split: str, length: int, count: int) -> list[Row]:
        """At least the first `count` of a place.

        Raises:
          UserError: there are not as many, or they are damaged.
        """
        have = {
            each.path: each.about["counts"].get(split, {}).get(str(length), 0) for each in self.sets
        }
        most = max(self.sets, key=lambda each: have[each.path])
        if have[most.path] >= count:
            self.used.add(most.sha256)
            return [row for row in most.rows[split] if row["length"] == length]
        others = sorted({int(n) for each in self.sets for n in each.about["counts"].get(split, {})})
        if not have[most.path]:
            raise UserError(
                f"{self.folder} holds no frozen {split} examples of {self.name} of length "
                f"{length}, but of {_listed(others)}."
            )
        there = f"{have[most.path]} frozen {split} examples of {self.name} of length {length}"
        raise UserError(f"{self.folder} holds {there}, and {count} are asked for.")

    def batch(
        self, place: tuple[str, int], count: int, first: int, size: int, bound: int
    ) -> Example:
        """`size` of the `count` examples of a place from index `first` on, in the shapes of length
        `bound`.

        Behind the last stand the first ones again, which nobody counts.
        """
        rows = self.rows(*place, count)
        return stacked(self.task, bound, [rows[i % len(rows)] for i in range(first, first + size)])


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def _about(task: Plugin, counts: Counts) -> dict[str, Any]:
    """What a frozen set is of, as JSON gives it back."""
    by_split = {
        s: {str(n): counts[s, n] for n in sorted(n for t, n in counts if t == s)} for s, _ in counts
    }
    return json.loads(json.dumps({"task": task.to_dict(), "seed": SEED, "counts": by_split}))


def _vocabularies(made: Task) -> dict[str, Vocabulary]:
    return {"prompt": made.vocabulary, "target": made.target_vocabulary}


def _description(made: Task, task: Plugin) -> str:
    return (
        f"Evaluation examples of pe_lab's task {label(task.to_dict())}, one a row: its length in "
        f"{made.length_name}; symbols of "
        "the prompt; of the target symbols, what is scored as the answer, the prompt token that "
        "each comes from (-1: none). Where "
        "a task has them: asked, what the model must say and is not given; structure, what "
        "position schemes may follow. How a "
        "reader writes the symbols stands in metadata.json."
    )


def rows_of(length: int, examples: Example) -> Iterator[Row]:
    """Examples without their padding, as the data set holds them."""
    target = {
        "symbols": examples.target,
        "answer": examples.answer_mask,
        "alignment": examples.alignment,
        "asked": examples.asked_mask,
    }
    sides = {
        "prompt": {"symbols": examples.prompt},
        "target": {k: v for k, v in target.items() if v is not None},
    }
    if examples.structure:
        for side, which in (("prompt", 0), ("target", 1)):
            sides[side]["structure"] = {
                name: pair[which] for name, pair in examples.structure.items()
            }
    sizes = {"prompt": examples.prompt_mask.sum(axis=1), "target": examples.target_mask.sum(axis=1)}
    for i in range(len(examples.prompt)):
        cut = {
            side: jax.tree.map(lambda leaf, n=sizes[side][i], i=i: leaf[i, :n], leaves)
            for side, leaves in sides.items()
        }
        yield {"length": np.asarray(length, np.int32), **cut}


def stacked(task: Task, bound: int, rows: list[Row]) -> Example:
    """Rows as examples in the shapes of length `bound`, the way back from `rows_of`."""
    prompt, prompt_mask = _padded([row["prompt"] for row in rows], task.prompt_bound(bound))
    target, target_mask = _padded([row["target"] for row in rows], task.target_bound(bound))
    alignment = np.where(target_mask, target["alignment"], -1)
    structure = {
        name: (leaf, target["structure"][name])
        for name, leaf in prompt.get("structure", {}).items()
    }
    said = (target["symbols"], target_mask, target["answer"], alignment, target.get("asked"))
    return Example(prompt["symbols"], prompt_mask, *said, structure)


def _padded(sides: list[Row], bound: int) -> tuple[Any, np.ndarray]:
    """Prompts or targets of many rows with zeros behind, and the mask of what stands before
    them.
    """
    sizes = np.array([len(side["symbols"]) for side in sides])

    def pad(*leaves: np.ndarray) -> np.ndarray:
        found = np.zeros((len(leaves), bound, *leaves[0].shape[1:]), leaves[0].dtype)
        for row, leaf in zip(found, leaves, strict=True):
            row[: len(leaf)] = leaf
        return found

    return jax.tree.map(pad, *sides), np.arange(bound)[None] < sizes[:, None]
