"""Say a text byte by byte, from nothing.

The prompt is empty. The target is a window of `length` bytes at a random place of the split, each
place equally likely; all of it is asked. A window may begin and end inside a document and reach
into the next, as contexts of language models do, so that all lengths are measured on the same text;
none crosses the end of a split. A window ends anywhere, so `layout.end_token` is best off.

What counts is the mean negative log-likelihood of each place (`negative_log_likelihood_by_place`);
pe_lab/analysis/likelihood.py makes perplexities and bits per byte of it.

Papers: Press et al. 2021 (https://arxiv.org/abs/2108.12409) and Chi et al. 2022
(https://arxiv.org/abs/2205.09921): perplexity of windows longer than those of training.

Differs: bytes instead of words or subwords, so that no tokenizer stands between text and position.
"""

import functools
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._bytes import VOCABULARY, alike, joined
from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class LanguageModel(Task):
    """The target is a window of text; symbols are bytes.

    Args:
      path: a folder of UTF-8 text, whose files fall into splits by their content, or one file,
        split by place.
      dataset: in place of a path any text set of TFDS that is prepared in data_dir, as
        array_record; "installed": the text that the running system carries, which differs from
        system to system.
      data_dir: where prepared sets lie. What a path holds is prepared there as "corpus/<hash of its
        content>": as `dataset` that name says what was read for good.
    """

    path: str | None = None
    dataset: str | None = None
    data_dir: str = ".cache/datasets"

    length_name = "bytes"
    by_place = True

    def __post_init__(self):
        if (self.path is None) == (self.dataset is None):
            raise ValueError(
                f"language_model reads either a path or a dataset, got path={self.path!r} and "
                f"dataset={self.dataset!r}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        return VOCABULARY

    @property
    def max_length(self) -> int | None:
        return min(len(text) for text in self._texts.values())

    def prompt_bound(self, length: int) -> int:
        return 0

    def data(self, split: str) -> dict[str, np.ndarray]:
        size = np.asarray(len(self._texts[split]), np.int32)
        return {
            **alike({name: {"bytes": text} for name, text in self._texts.items()}, split),
            "size": size,
        }

    @functools.cached_property
    def _texts(self) -> dict[str, np.ndarray]:
        """Split -> its documents, a line's end behind each."""
        from pe_lab.data import installed, text  # TFDS takes a second to import

        folder, name = Path(self.data_dir), self.dataset
        if name is None or name == "installed":
            name = text.prepare(
                text.documents(
                    Path(self.path) if self.path is not None else installed.text(folder)
                ),
                folder,
            )
        found = text.read(name, folder)
        return {
            split: joined([d if d.endswith(b"\n") else d + b"\n" for (d,) in rows], split)
            for split, rows in found.items()
        }

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(target)

    def sample(self, key, length, bound, data=None) -> Example:
        text, place = data["bytes"], jnp.arange(bound)
        start = jax.random.randint(key, (), 0, data["size"] - length + 1)
        mask = place < length
        window = jnp.where(mask, jnp.take(text, start + place, mode="clip").astype(jnp.int32), 0)
        nothing = jnp.zeros(0, jnp.int32)
        return Example(nothing, nothing.astype(bool), window, mask, mask, jnp.full(bound, -1))
