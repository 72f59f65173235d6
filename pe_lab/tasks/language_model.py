"""Model a text byte by byte, or token by token, without a prompt.

The prompt is empty. The target is a window of `length` bytes, or tokens, at a uniform offset of
the split, and the model predicts all of it. A window may begin and end inside a document and
continue into the next one, like the contexts of language models, unless `within_documents` is set;
no window crosses the end of a split. A window ends anywhere, so `layout.end_token` should be False.

To compare contexts, evaluate the same bytes with each: with align="end" and longest=2048, every
evaluation window is the end of one of 2,048 bytes, so all lengths end with the same bytes.

The score is the mean negative log-likelihood of each index (`negative_log_likelihood_by_place`);
pe_lab/metrics/negative_log_likelihood_by_place.py computes perplexities and bits per byte from it.

Papers: Press et al. 2021 (https://arxiv.org/abs/2108.12409) and Chi et al. 2022
(https://arxiv.org/abs/2205.09921): perplexity of windows longer than in training.

Differs: bytes instead of words or subwords, so that no tokenizer affects the positions, unless
`tokens` names files of token ids.
"""

import functools
import importlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab import choices, parts
from pe_lab.runs.errors import UserError
from pe_lab.runs.paths import user_path
from pe_lab.runs.records.record_schema import CorpusSizes
from pe_lab.tasks._bytes import VOCABULARY, joined, same_size
from pe_lab.tasks.base import Example, Scalar, Task, Vocabulary, make_example

SPLITS = ("train", "validation", "test")


class _SplitText(NamedTuple):
    """The symbols of a split, and the ends of its documents after a 0."""

    content: Any  # an array, or what gives one when it is read
    ends: np.ndarray


@dataclass(frozen=True)
class LanguageModel(Task):
    """The target is a window of text; symbols are bytes, or tokens.

    Args:
      path: a folder of UTF-8 text, whose files are assigned to splits by their content, or one
        file, which is cut into splits. Files may end in .gz or .zst; those in .jsonl and .parquet
        hold several documents.
      dataset: instead of a path, "stories", a corpus that is made by code and equal on every
        machine; or any text data set of TFDS that is prepared in data_dir as array_record.
      tokens: instead of a path, a file of token ids, or a folder of files NAME.bin: those of llm.c
        and modded-nanogpt, or ids alone. Lengths are then numbers of tokens.
      data_dir: the folder of prepared data sets. The content of a path is prepared there as
        "corpus/<hash of its content>"; that name as `dataset` reproduces the text, but with a final
        newline where `splits` in bytes have none. Records have this name (`provenance.corpus`).
        Without tensorflow-datasets one plain file is read, and no copy is prepared.
      splits: of a path: the bytes of train, validation and test, such as (90_000_000, 5_000_000,
        5_000_000) for enwik8; or "named" for a folder with files or folders named train, validation
        and test. Of tokens: their numbers, or "named", where a missing validation or test split is
        the last twentieth of the training tokens.
      feature: the name of the text in a set, or in a file of .jsonl or .parquet, with several.
      max_bytes: of each split, only its first bytes.
      within_documents: no window crosses the end of a document.
      longest: evaluation places windows of this many bytes, and a shorter window is one end of it.
      align: the end of the longest window that the windows of all lengths share.
      token_type: of ids without a header.
      vocabulary_size: of tokens; None: the largest id and one.
      bytes_per_token: a number, or a file whose lines are the bytes of each token id. Tables then
        have bits per byte; None: bits per token.
      max_tokens: of each split, only its first tokens.
      on_demand: windows are read from the tokens, or from a path of one plain file, when they are
        drawn. Neither the memory nor the device holds the text.
    """

    path: str | None = None
    dataset: str | None = None
    tokens: str | None = None
    data_dir: str = ".cache/datasets"
    splits: tuple[int, int, int] | str | None = None
    feature: str | None = None
    max_bytes: int | None = None
    within_documents: bool = False
    longest: int | None = None
    align: Literal["start", "end"] = "start"
    token_type: Literal["uint16", "uint32"] = "uint16"
    vocabulary_size: int | None = None
    bytes_per_token: float | str | None = None
    max_tokens: int | None = None
    on_demand: bool = False

    length_name = "bytes"
    is_text = True
    later_arguments = (
        *("splits", "feature", "max_bytes", "within_documents", "longest", "align", "tokens"),
        *("token_type", "vocabulary_size", "bytes_per_token", "max_tokens", "on_demand"),
    )

    def __post_init__(self):
        given_sources = (self.path, self.dataset, self.tokens)
        if len([source for source in given_sources if source is not None]) != 1:
            raise ValueError(
                f"language_model reads one of path, dataset and tokens, got path="
                f"{self.path!r}, dataset={self.dataset!r} and tokens={self.tokens!r}."
            )
        if self.tokens is not None:
            object.__setattr__(self, "length_name", "tokens")
        self._check_tokens()
        if self.dataset is not None and self.splits is not None:
            raise ValueError("language_model's splits are of a path: a dataset has its own.")
        if isinstance(self.splits, str) and self.splits != "named":
            raise ValueError(
                choices.unknown_name("language_model's splits", self.splits, ["named"])
            )
        if self.align == "end" and self.longest is None:
            raise ValueError("language_model needs longest=BYTES for align='end'.")
        sizes = [self.longest, self.max_bytes, self.max_tokens, self.vocabulary_size]
        sizes += self.splits if isinstance(self.splits, tuple) else ()
        if any(size is not None and size < 1 for size in sizes):
            raise ValueError(
                "language_model's splits, max_bytes, max_tokens, vocabulary_size and longest must "
                "be at least 1."
            )

    def _check_tokens(self) -> None:
        """Check the arguments that only tokens have, or only text."""
        no_tokens = ("feature", "max_bytes", "within_documents")
        only_tokens = ("token_type", "vocabulary_size", "bytes_per_token", "max_tokens")
        for name in only_tokens if self.tokens is None else no_tokens:
            if getattr(self, name) != type(self).__dataclass_fields__[name].default:
                source = "tokens" if self.tokens is None else "text: tokens state no documents"
                raise ValueError(f"language_model's {name} is of {source}.")
        if self.on_demand and self.dataset is not None:
            raise ValueError("language_model's on_demand is of tokens, or of a path.")
        number = 1 if self.bytes_per_token is None else self.bytes_per_token
        if not isinstance(number, str) and not 0 < number < math.inf:
            raise ValueError("language_model's bytes_per_token must be above 0.")

    @property
    def vocabulary(self) -> Vocabulary:
        return VOCABULARY if self.tokens is None else Vocabulary(self._files.vocabulary_size)

    @property
    def max_length(self) -> int | None:
        sizes = []
        for content, ends in self._split_texts.values():
            sizes.append(int(np.diff(ends).max()) if self.within_documents else len(content))
        if self.longest is None:
            return min(sizes)
        if self.longest > min(sizes):
            unit = "document" if self.within_documents else "text"
            raise UserError(
                f"language_model's longest={self.longest} is more than the {min(sizes)} "
                f"{self.length_name} of the longest {unit} of a split."
            )
        return self.longest

    @property
    def corpus_sizes(self) -> CorpusSizes:
        sizes = {split: len(text.content) for split, text in self._split_texts.items()}
        if self.tokens is None:
            return {"corpus_bytes": sizes}
        if self._files.bytes_per_token is None:
            return {"corpus_tokens": sizes}
        return {"corpus_tokens": sizes, "bytes_per_token": self._files.bytes_per_token}

    def prompt_bound(self, length: int) -> int:
        return 0

    def data(self, split: str) -> dict[str, np.ndarray]:
        size = len(self._split_texts[split].content)  # without padding
        data = {"size": np.asarray(size, np.int32)}
        if self.on_demand:
            data["split"] = np.asarray(SPLITS.index(split), np.int32)
            # A changed text is another data digest, as if its symbols were here.
            data["hash"] = np.frombuffer(self.corpus.encode(), np.uint8)
        else:
            names = ("train",) if split == "train" else ("validation", "test")
            contents = {name: np.asarray(self._split_texts[name].content) for name in names}
            data |= same_size({name: {"content": c} for name, c in contents.items()}, split)
        if self.within_documents:
            data["ends"] = self._padded_ends(split)
        if self.longest is not None:
            # Training uses all documents. Only evaluation compares lengths.
            data["longest"] = np.asarray(0 if split == "train" else self.longest, np.int32)
        return data

    def _padded_ends(self, split: str) -> np.ndarray:
        """Return ends with empty documents, so that validation and test have one shape."""
        ends = self._split_texts[split].ends
        others = ("train",) if split == "train" else ("validation", "test")
        most = max(len(self._split_texts[other].ends) for other in others)
        return np.pad(ends, (0, most - len(ends)), mode="edge")

    def evaluation_key_length(self, length: Scalar) -> Scalar:
        return length if self.longest is None else jnp.asarray(self.longest)

    @functools.cached_property
    def _files(self) -> Any:
        """The text that is read from its files; None for one that is prepared as a data set."""
        module = parts.module("data", "text_files")
        assert module is not None
        return importlib.import_module(module).read(self)

    @functools.cached_property
    def corpus(self) -> str:
        if self._files is not None:
            return self._files.corpus
        from pe_lab.data import made, sources, text  # TFDS takes a second to import

        folder = Path(user_path(self.data_dir))
        if self.path is not None:
            rows = sources.documents(
                Path(user_path(self.path)), self.feature or "text", self.splits
            )
            return text.prepare(rows, folder)
        assert self.dataset is not None
        if self.dataset in made.HASHES:
            return text.prepare_made(self.dataset, folder)
        return self.dataset

    @functools.cached_property
    def _split_texts(self) -> dict[str, _SplitText]:
        """The documents of each split, each with a final newline unless `splits` counts bytes."""
        if self._files is not None:
            return {
                split: _SplitText(content, np.array([0, len(content)], np.int32))
                for split, content in self._files.splits.items()
            }
        from pe_lab.data import text

        folder = Path(user_path(self.data_dir))
        # A path is prepared with one feature.
        features = () if self.feature is None or self.path is not None else (self.feature,)
        split_texts = {}
        for split, rows in text.read(self.corpus, folder, features, self.max_bytes).items():
            documents = []
            for (document,) in rows:
                is_complete = document.endswith(b"\n") or isinstance(self.splits, tuple)
                documents.append(document if is_complete else document + b"\n")
            content = joined(documents, split)[: self.max_bytes]
            ends = np.cumsum([0, *map(len, documents)])
            ends = np.minimum(ends, len(content)).astype(np.int32)
            split_texts[split] = _SplitText(content, ends)
        return split_texts

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(target)

    def sample(self, key, length, bound, data=None) -> Example:
        index = jnp.arange(bound)
        size = length if self.longest is None else jnp.maximum(length, data["longest"])
        if self.within_documents:
            start = _start_in_document(key, data["ends"], size)
        else:
            num_starts = data["size"] - size + 1
            start = jax.random.randint(key, (), 0, num_starts)
        if self.align == "end":
            start += size - length
        if self.on_demand:
            shape = jax.ShapeDtypeStruct((bound,), jnp.int32)
            read = functools.partial(self._files.windows, bound)
            # One call of the host reads the windows of all examples ("broadcast_all").
            window = jax.pure_callback(
                read, shape, start, data["split"], vmap_method="broadcast_all"
            )
        else:
            # Indices beyond the text are clipped; the mask removes their symbols.
            window = jnp.take(data["content"], start + index, mode="clip")
            window = window.astype(jnp.int32)
        no_prompt = jnp.zeros(0, jnp.int32)
        no_mask = jnp.zeros(0, bool)
        return make_example(no_prompt, no_mask, window, index < length)


def _start_in_document(key, ends, size: Scalar) -> Scalar:
    """Draw one of the starts from which a document has `size` bytes; all are equally likely."""
    starts = ends[:-1]
    num_starts = jnp.maximum(jnp.diff(ends) - size + 1, 0)  # of each document
    end_counts = jnp.cumsum(num_starts)
    draw = jax.random.randint(key, (), 0, end_counts[-1])
    # From the right, so that documents without a start are passed over.
    document = jnp.searchsorted(end_counts, draw, side="right")
    return starts[document] + draw - (end_counts - num_starts)[document]
