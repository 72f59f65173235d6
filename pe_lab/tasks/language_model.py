"""Model a text byte by byte, without a prompt.

The prompt is empty. The target is a window of `length` bytes at a uniform offset of the split, and
the model predicts all of it. A window may begin and end inside a document and continue into the
next one, like the contexts of language models, so that all lengths are measured on the same text;
no window crosses the end of a split. A window ends anywhere, so `layout.end_token` should be False.

The score is the mean negative log-likelihood of each index (`negative_log_likelihood_by_place`);
pe_lab/metrics/negative_log_likelihood_by_place.py computes perplexities and bits per byte from it.

Papers: Press et al. 2021 (https://arxiv.org/abs/2108.12409) and Chi et al. 2022
(https://arxiv.org/abs/2205.09921): perplexity of windows longer than in training.

Differs: bytes instead of words or subwords, so that no tokenizer affects the positions.
"""

import functools
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.runs.paths import user_path
from pe_lab.tasks._bytes import VOCABULARY, joined, same_size
from pe_lab.tasks.base import Example, Task, Vocabulary, make_example


@dataclass(frozen=True)
class LanguageModel(Task):
    """The target is a window of text; symbols are bytes.

    Args:
      path: a folder of UTF-8 text, whose files are assigned to splits by their content, or one
        file, which is cut into splits.
      dataset: instead of a path, "stories", a corpus that is made by code and equal on every
        machine; or any text data set of TFDS that is prepared in data_dir as array_record.
      data_dir: the folder of prepared data sets. The content of a path is prepared there as
        "corpus/<hash of its content>"; that name as `dataset` reproduces the text. Records have
        this name (`provenance.corpus`).
    """

    path: str | None = None
    dataset: str | None = None
    data_dir: str = ".cache/datasets"

    length_name = "bytes"
    is_text = True

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
        arrays = {name: {"bytes": text} for name, text in self._texts.items()}
        size = len(self._texts[split])  # without padding
        return {**same_size(arrays, split), "size": np.asarray(size, np.int32)}

    @functools.cached_property
    def corpus(self) -> str:
        from pe_lab.data import made, text  # TFDS takes a second to import

        folder = Path(user_path(self.data_dir))
        if self.path is not None:
            return text.prepare(text.documents(Path(self.path)), folder)
        assert self.dataset is not None
        if self.dataset in made.HASHES:
            return text.prepare_made(self.dataset, folder)
        return self.dataset

    @functools.cached_property
    def _texts(self) -> dict[str, np.ndarray]:
        """Split -> its documents, each with a final newline."""
        from pe_lab.data import text

        texts = {}
        splits = text.read(self.corpus, Path(user_path(self.data_dir)))
        for split, rows in splits.items():
            documents = []
            for (document,) in rows:
                end = b"" if document.endswith(b"\n") else b"\n"
                documents.append(document + end)
            texts[split] = joined(documents, split)
        return texts

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(target)

    def sample(self, key, length, bound, data=None) -> Example:
        index = jnp.arange(bound)
        num_starts = data["size"] - length + 1
        start = jax.random.randint(key, (), 0, num_starts)
        # Indices beyond the text are clipped; the mask removes their symbols.
        window = jnp.take(data["bytes"], start + index, mode="clip")
        window = window.astype(jnp.int32)
        no_prompt = jnp.zeros(0, jnp.int32)
        no_mask = jnp.zeros(0, bool)
        return make_example(no_prompt, no_mask, window, index < length)
