"""Token ids in binary files: plain, or with the header of llm.c and modded-nanogpt.

256 int32: a magic number, its version, the number of tokens, then zeros; after it the tokens.

Source: karpathy/llm.c at 16635d4, dev/data/data_common.py. modded-nanogpt reads the first kind.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pe_lab.contrib.text.data._parts import (
    FilePart,
    Parts,
    Version,
    content_hash,
    first,
    version_of,
)
from pe_lab.data import sources
from pe_lab.data.sources import Splits
from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.paths import user_path

TYPES = {"uint16": "<u2", "uint32": "<u4"}
_HEADER = 256 * 4  # bytes
_KINDS = {20240520: (1, "<u2"), 20240801: (7, "<u4")}  # magic number -> version, type
_MAGIC_NUMBERS = range(20_240_000, 20_270_000)  # also of headers that are not known here
_NUMPY = b"\x93NUMPY"  # the first bytes of a file .npy
_MOST_IDS = 2**21  # of a vocabulary that is found; the largest published ones have 2**18
_BEGIN = 2**16  # ids that show whether the type is right
_FEWEST_HALVES = 16  # of which this is said: fewer may be small by chance
_WHOLE_NUMBER = re.compile(r"\s*[0-9]{1,9}\s*")
_CUT = 20  # a twentieth of the training tokens replaces a missing validation or test split


@dataclass(frozen=True)
class TokenSet:
    """Tokens in splits, whose ids are checked.

    Attributes:
      content: the hash of all tokens of the splits.
      bytes_per_token: of each split; None: unknown.
    """

    splits: Mapping[str, Parts]
    content: str
    vocabulary_size: int
    bytes_per_token: Mapping[str, float] | None


def read(
    path: Path,
    splits: Splits = None,
    token_type: str = "uint16",
    vocabulary_size: int | None = None,
    bytes_per_token: float | str | None = None,
    max_tokens: int | None = None,
) -> TokenSet:
    """Open a file of tokens, or the files NAME.bin of a folder in the order of their names.

    Args:
      splits: how many tokens train, validation and test take from the start, one after the other;
        "named": by the words of file names, where a missing validation or test split is the end of
        the training tokens; None: all tokens are cut at 80 and 90 percent.
      token_type: of files without a header.
      vocabulary_size: None: the largest id and one.
      bytes_per_token: a number, or a file with a whole number a line: the bytes of each id.
      max_tokens: of each split, only its first tokens.

    Raises:
      UserError: there is no token, a file is no such file, or an id is out of the vocabulary.
    """
    split_tokens = _splits(path, splits, TYPES[token_type])
    # Before max_tokens cuts the splits, so that the vocabulary does not depend on it.
    largest = max(int(block.max()) for parts in split_tokens.values() for block in parts.blocks())
    if vocabulary_size is None:
        _check_ids(path, largest, _MOST_IDS, f"any known vocabulary: {token_type} may be wrong")
        vocabulary_size = largest + 1
    _check_ids(path, largest, vocabulary_size, f"the vocabulary of {vocabulary_size:,}")
    content = content_hash(split_tokens, "tokens")
    split_tokens = first(split_tokens, max_tokens, "tokens")
    sizes = None
    if isinstance(bytes_per_token, str):
        table = _byte_lengths(Path(user_path(bytes_per_token)))
        _check_ids(path, largest, len(table), f"the {len(table):,} lines of {bytes_per_token}")
        sizes = {split: _mean_bytes(tokens, table) for split, tokens in split_tokens.items()}
    elif bytes_per_token is not None:
        sizes = dict.fromkeys(split_tokens, float(bytes_per_token))
    return TokenSet(split_tokens, content, vocabulary_size, sizes)


def _check_ids(path: Path, largest: int, count: int, where: str) -> None:
    if largest >= count:
        raise UserError(f"The tokens {path} have the id {largest:,}, outside of {where}.")


def _splits(path: Path, splits: Splits, plain_type: str) -> dict[str, Parts]:
    if not path.exists():
        raise UserError(f"There is no file or folder of tokens at {path}.")
    if not isinstance(splits, str):
        tokens = _tokens([path], plain_type)
        ends = sources.bounds(tokens, f"The tokens {path}", "tokens", splits)
        return {split: tokens[start:end] for split, (start, end) in ends.items()}
    named = sources.named_entries(path)
    split_tokens = {}
    for split, entries in named.items():
        shards = [entry for entry in entries if entry.is_dir() or entry.suffix == ".bin"]
        if shards:
            split_tokens[split] = _tokens(shards, plain_type)
    if "train" not in split_tokens:
        raise UserError(f"The folder {path} has no file NAME.bin or folder of train by its name.")
    for split in named:
        if split not in split_tokens:
            train = split_tokens["train"]
            end = len(train) - max(1, len(train) // _CUT)
            split_tokens |= {"train": train[:end], split: train[end:]}
    for split, tokens in split_tokens.items():
        if not len(tokens):
            raise UserError(f"The tokens {path} have none for {split}.")
    return split_tokens


def _tokens(entries: Sequence[Path], plain_type: str) -> Parts:
    """Return the tokens of files, and of the files NAME.bin of folders, without hidden ones."""
    shards = []
    for entry in entries:
        files = [entry]
        if entry.is_dir():
            files = [file for file in sources.files_of(entry) if file.suffix == ".bin"]
        if not files:
            raise UserError(f"The folder {entry} has no file of tokens, NAME.bin.")
        shards += [_shard(file, plain_type) for file in files]
    return Parts(tuple(shards))


def _shard(file: Path, plain_type: str) -> FilePart:
    """Return the tokens of a file.

    Raises:
      UserError: it cannot be read, or its first bytes or its size are not those of tokens.
    """
    try:
        version = version_of(file)
        header = np.fromfile(file, "<i4", _HEADER // 4)
    except OSError as e:
        raise UserError(f"The tokens {file} cannot be read ({one_line(e)}).") from e
    if not version.size:
        raise UserError(f"The tokens {file} are an empty file.")
    if header.tobytes().startswith(_NUMPY):
        raise UserError(
            f"The tokens {file} are a file of NumPy; write its ids by "
            f'array.astype("uint16").tofile, or with "uint32".'
        )
    magic = int(header[0]) if len(header) else 0
    # Ids can be such a number too, but have no zeros after it.
    num_stated = int(header[2]) if len(header) > 2 else 0
    states_size = num_stated > 0 and version.size - _HEADER in (2 * num_stated, 4 * num_stated)
    is_header = (magic in _MAGIC_NUMBERS or states_size) and not header[16:].any()
    is_unknown = is_header and magic not in _KINDS
    if is_unknown or (magic in _KINDS and version.size < _HEADER):
        raise UserError(f"The tokens {file} have a header that is cut or not known ({magic}).")
    if magic not in _KINDS:
        return _plain_shard(file, version, plain_type)
    header_version, token_type = _KINDS[magic]
    if header[1] != header_version:
        raise UserError(
            f"The tokens {file} have version {header[1]} of their header; "
            f"{header_version} is known."
        )
    num_tokens = (version.size - _HEADER) // np.dtype(token_type).itemsize
    if num_tokens != header[2]:
        raise UserError(
            f"The header of {file} states {header[2]:,} tokens, and the file has {num_tokens:,}."
        )
    return FilePart(file, version, token_type, _HEADER, num_tokens)


def _plain_shard(file: Path, version: Version, token_type: str) -> FilePart:
    """Return the tokens of a file without a header."""
    width = np.dtype(token_type).itemsize
    if version.size % width:
        raise UserError(
            f"The tokens {file} have {version.size:,} bytes, not {width} for each token."
        )
    shard = FilePart(file, version, token_type, 0, version.size // width)
    begin = np.asarray(shard[:_BEGIN])
    if _has_ids_of_64_bits(begin if width == 4 else begin[: len(begin) // 2 * 2].view("<u4")):
        raise UserError(
            f"Every second word of the tokens {file} is 0, as in a file of ids of 64 bits: write "
            f'them by array.astype("uint32").tofile.'
        )
    if token_type == TYPES["uint16"] and _has_wide_ids(begin):
        raise UserError(
            f"Every second id of the tokens {file} is below {_MOST_IDS >> 16}, as in a file of "
            f'wider ids: set token_type="uint32".'
        )
    return shard


def _has_ids_of_64_bits(words: np.ndarray) -> bool:
    """Whether words of 32 bits are the lower and upper halves of ids of 64 bits."""
    if len(words) < _FEWEST_HALVES or len(words) % 2:
        return False
    lower, upper = words[::2], words[1::2]
    return bool(lower.any() and not upper.any() and lower.max() < _MOST_IDS)


def _has_wide_ids(halves: np.ndarray) -> bool:
    """Whether ids of uint16 are the lower and upper halves of ids of uint32."""
    if len(halves) < _FEWEST_HALVES or len(halves) % 2:
        return False
    lower, upper = int(halves[::2].max()), int(halves[1::2].max())
    # Ids of a vocabulary of 32 or less are all as small as an upper half.
    is_wide = lower >= _MOST_IDS >> 16
    return upper < _MOST_IDS >> 16 and (is_wide or lower > upper == 0)


def _byte_lengths(file: Path) -> np.ndarray:
    """Return the bytes of each token id: line 1 is id 0."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as e:  # a path with a zero byte, or another encoding
        raise UserError(f"bytes_per_token={str(file)!r} cannot be read ({one_line(e)}).") from e
    for number, line in enumerate(lines, start=1):
        if not _WHOLE_NUMBER.fullmatch(line):
            raise UserError(f"bytes_per_token={str(file)!r} has no whole number in line {number}.")
    return np.array([int(line) for line in lines], np.int64)


def _mean_bytes(tokens: Parts, lengths: np.ndarray) -> float:
    """Return the mean number of bytes of the tokens."""
    total = sum(int(lengths[block].sum()) for block in tokens.blocks())
    if not total:
        raise UserError("The tokens of a split have no bytes by the lines of bytes_per_token.")
    return total / len(tokens)
