"""Frozen evaluation sets: examples of evaluation written to disk and read back."""

import dataclasses
import functools
import hashlib
import json
import operator
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool, PyTree

from pe_lab.runs import commands, plugins
from pe_lab.runs.errors import UserError
from pe_lab.runs.evaluation_points import Counts, example_counts
from pe_lab.runs.labels import label
from pe_lab.runs.plugin import Plugin
from pe_lab.runs.run import Run
from pe_lab.tasks.base import Example, Task
from pe_lab.training.evaluation_data import SEED, draw

# An example without padding: "length", "prompt" and "target", each with its "symbols" and masks.
Row = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Written:
    """A frozen set on disk.

    Attributes:
      count: examples of all splits and lengths.
      digest: sha256 of the examples.
      new: it was not there before.
    """

    path: Path
    task: str
    count: int
    digest: str
    new: bool


def freeze(task_plugin: Plugin, counts: Counts, folder: Path) -> Written:
    """Write a task's evaluation examples into a folder of frozen sets, unless they are there.

    Raises:
      UserError: the task has no examples of a length, or other examples are there.
    """
    from pe_lab.data import frozen  # imports TFDS, which takes a second

    task = plugins.build("tasks", task_plugin)
    name = label(task_plugin.to_dict())
    for length in sorted({n for _, n in counts}):
        if length < task.min_length or length > (task.max_length or length):
            raise UserError(f"{name} has no examples of length {length}.")
    about = _about(task_plugin, counts)
    splits = {split for split, _ in counts}
    rows: dict[str, list[Row]] = {split: [] for split in sorted(splits)}
    for split, length, examples in draw(task, counts):
        rows[split] += rows_of(length, examples)
    about_json = json.dumps(about, sort_keys=True)
    digest = hashlib.sha256(about_json.encode()).hexdigest()
    vocabularies = {"prompt": task.vocabulary, "target": task.target_vocabulary}
    symbols = {}
    for side, vocabulary in vocabularies.items():
        symbols[side] = [vocabulary.text([i]) for i in range(vocabulary.num_symbols)]
    short_name = task_plugin.name.rpartition(":")[2]  # of a "package.module:Class", the class
    written, new = frozen.write(
        folder,
        f"{short_name.lower()}-{digest[:12]}",
        about,
        _description(task, name),
        rows,
        symbols,
    )
    return Written(
        path=written.path,
        task=name,
        count=sum(counts.values()),
        digest=written.sha256,
        new=new,
    )


def frozen_of(run: Run) -> "FrozenSets | None":
    """The frozen examples that a run's evaluation reads; None if it draws them.

    Raises:
      UserError: they are missing, incomplete or damaged.
    """
    if run.evaluate.frozen is None:
        return None
    if not run.train.exclude_held_out:
        raise UserError("Frozen examples require config.train.exclude_held_out=True, got False.")
    sets = FrozenSets(Path(run.evaluate.frozen), run.evaluated_task)
    for (split, length), count in example_counts([run])[run.evaluated_task].items():
        sets.rows(split, length, count)
    return sets


class FrozenSets:
    """The frozen sets of a task in a folder.

    Attributes:
      used: sha256 of the sets that rows were taken from.

    Raises:
      UserError: the folder has none of the task with these arguments, or of another version.
    """

    def __init__(self, folder: Path, task: Plugin):
        from pe_lab.data import frozen

        self.folder = folder
        self.name = label(task.to_dict())
        self.task = plugins.build("tasks", task)
        present = frozen.sets(folder)
        if not present:
            freeze = commands.pe_lab("freeze", "CONFIG", f"--out={folder}")
            raise UserError(
                f"{folder} holds no frozen examples. This command writes them: {freeze}"
            )
        without_counts = _about(task, {})
        of_task = [s for s in present if {**s.about, "counts": {}} == without_counts]
        if not of_task:
            others = {f"{label(s.about['task'])} of seed {s.about['seed']}" for s in present}
            raise UserError(
                f"{folder} holds no frozen examples of {self.name} of seed {SEED}, but of "
                f"{'; '.join(sorted(others))}."
            )
        self.sets = [s for s in of_task if s.version == frozen.VERSION]
        if not self.sets:
            raise UserError(
                f"{folder} holds {self.name} frozen in version {of_task[0].version}; this pe_lab "
                f"reads {frozen.VERSION}."
            )
        self.rows = functools.cache(self._rows)  # every batch of a length reads the same rows
        self.used: set[str] = set()

    def _rows(self, split: str, length: int, count: int) -> list[Row]:
        """At least the first `count` examples of a split and length.

        Raises:
          UserError: there are fewer, or they are damaged.
        """

        def available(frozen_set: Any) -> int:  # a Set of pe_lab.data.frozen
            by_length = frozen_set.about["counts"].get(split, {})
            return by_length.get(str(length), 0)

        largest = max(self.sets, key=available)
        if available(largest) >= count:
            self.used.add(largest.sha256)
            return [row for row in largest.rows[split] if row["length"] == length]
        examples = f"frozen {split} examples of {self.name} of length {length}"
        if not available(largest):
            lengths: set[int] = set()
            for frozen_set in self.sets:
                lengths |= {int(n) for n in frozen_set.about["counts"].get(split, {})}
            others = ", ".join(map(str, sorted(lengths))) or "none"
            raise UserError(f"{self.folder} holds no {examples}, but of {others}.")
        raise UserError(
            f"{self.folder} holds {available(largest)} {examples}, and the config needs {count}."
        )

    def batch(
        self,
        key: tuple[str, int],
        count: int,
        first: int,
        size: int,
        bound: int,
    ) -> Example:
        """Some examples of a split and length, in the shapes of length `bound`.

        Args:
          key: split and length.
          count: examples that the evaluation counts.
          first: index of the first example.
          size: examples in the batch; after the last one the first ones follow again.
        """
        rows = self.rows(*key, count)
        batch = [rows[i % len(rows)] for i in range(first, first + size)]
        return stacked(self.task, bound, batch)


def _about(task: Plugin, counts: Counts) -> dict[str, object]:
    """The content of a frozen set, in the values that JSON gives back."""
    by_split: dict[str, dict[str, int]] = {}
    for split, length in sorted(counts):
        by_length = by_split.setdefault(split, {})
        by_length[str(length)] = counts[split, length]
    about = {"task": task.to_dict(), "seed": SEED, "counts": by_split}
    # Values as JSON gives them back, so that they compare equal to a set read from disk.
    return json.loads(json.dumps(about))


def _description(task: Task, name: str) -> str:
    return (
        f"Evaluation examples of pe_lab's task {name}, one a row: the length in "
        f"{task.length_name}, the symbols of prompt and target, the mask of the scored answer, and "
        "the prompt token that each target token comes from (-1: none). Some tasks have more "
        "fields: `asked`, the mask of the target symbols that the model must predict, and "
        "`structure`, which position schemes may follow. metadata.json holds the text of each "
        "symbol."
    )


def rows_of(length: int, examples: Example) -> Iterator[Row]:
    """Examples without their padding, as the data set holds them."""
    target = {
        "symbols": examples.target,
        "answer": examples.answer_mask,
        "alignment": examples.alignment,
        "asked": examples.asked_mask,
    }
    sides: dict[str, dict[str, PyTree]] = {
        "prompt": {"symbols": examples.prompt},
        "target": {name: leaf for name, leaf in target.items() if leaf is not None},
    }
    if examples.structure:
        pairs = examples.structure.items()
        sides["prompt"]["structure"] = {name: prompt for name, (prompt, _) in pairs}
        sides["target"]["structure"] = {name: target for name, (_, target) in pairs}
    masks = {"prompt": examples.prompt_mask, "target": examples.target_mask}
    for i in range(len(examples.prompt)):
        row: dict[str, PyTree] = {"length": np.asarray(length, np.int32)}
        for side, leaves in sides.items():
            num_tokens = masks[side][i].sum()
            tokens = operator.itemgetter((i, slice(num_tokens)))
            row[side] = jax.tree.map(tokens, leaves)
        yield row


def stacked(task: Task, bound: int, rows: Sequence[Row]) -> Example:
    """Rows as examples in the shapes of length `bound`: the inverse of `rows_of`."""
    prompts = [row["prompt"] for row in rows]
    targets = [row["target"] for row in rows]
    prompt, prompt_mask = _padded(prompts, task.prompt_bound(bound))
    target, target_mask = _padded(targets, task.target_bound(bound))
    structure = {}
    for name, leaf in prompt.get("structure", {}).items():
        structure[name] = (leaf, target["structure"][name])
    return Example(
        prompt=prompt["symbols"],
        prompt_mask=prompt_mask,
        target=target["symbols"],
        target_mask=target_mask,
        answer_mask=target["answer"],
        # Padding would be aligned to token 0.
        alignment=np.where(target_mask, target["alignment"], -1),
        asked_mask=target.get("asked"),
        structure=structure,
    )


def _padded(
    sides: list[Row],
    bound: int,
) -> tuple[PyTree, Bool[np.ndarray, "b l"]]:
    """Prompts or targets of many rows, zeros after their ends, and the mask of their tokens."""
    sizes = np.array([len(side["symbols"]) for side in sides])

    def pad(*leaves: np.ndarray) -> np.ndarray:
        _, *axes = leaves[0].shape
        padded = np.zeros((len(leaves), bound, *axes), leaves[0].dtype)
        for row, leaf in zip(padded, leaves, strict=True):
            row[: len(leaf)] = leaf
        return padded

    mask = np.arange(bound)[None] < sizes[:, None]
    return jax.tree.map(pad, *sides), mask
