"""Pairs as numbers: token ids in flat arrays, in one file."""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codequarry.shared.embedding.vocabulary import Vocabulary
from training.pairs import Pair

Ids = NDArray[np.int32]
# Maximum number of tokens of a part; the others are not learned from.
MOST_TOKENS = 256
FIELDS = ("text", "path", "head", "code")


@dataclass(frozen=True, slots=True)
class Ragged:
    """Lists of token ids: list ``i`` is ``flat[starts[i]:starts[i + 1]]``."""

    flat: Ids
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> "Ragged":
        """Concatenate lists."""
        lengths = np.array([len(numbers) for numbers in lists], dtype=np.int64)
        flat = np.fromiter((number for numbers in lists for number in numbers), np.int32, int(lengths.sum()))
        return cls(flat, _starts(lengths))

    @classmethod
    def join(cls, several: Sequence["Ragged"]) -> "Ragged":
        """Concatenate several Ragged."""
        lengths = np.concatenate([np.diff(part.starts) for part in several])
        return cls(np.concatenate([part.flat for part in several]), _starts(lengths))

    def only(self, which: NDArray[np.int64]) -> "Ragged":
        """Return some of the lists."""
        return Ragged(self.take(which)[1], _starts(self.starts[which + 1] - self.starts[which]))

    def take(self, which: NDArray[np.int64]) -> tuple[NDArray[np.int64], Ids]:
        """Return the tokens of some lists: for each its place in ``which``, and its id."""
        lengths = self.starts[which + 1] - self.starts[which]
        places = np.repeat(np.arange(len(which)), lengths)
        before = np.cumsum(lengths) - lengths
        return places, self.flat[np.arange(lengths.sum()) - np.repeat(before - self.starts[which], lengths)]


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


COLUMNS = ("package", "language", "kind", "code_key", "text_key", "key")


@dataclass(frozen=True, slots=True)
class Dataset:
    """Pairs of token lists, their package, language and kind, and keys that are equal for equal code, text or pair."""

    parts: dict[str, Ragged]
    package: Ids
    language: Ids
    kind: Ids
    code_key: NDArray[np.int64]
    text_key: NDArray[np.int64]
    key: NDArray[np.int64]
    languages: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.package)

    def write(self, path: Path) -> None:
        """Write everything to one file."""
        arrays: dict[str, NDArray[np.generic]] = {name: getattr(self, name) for name in COLUMNS}
        for name, part in self.parts.items():
            arrays[f"{name}_flat"], arrays[f"{name}_starts"] = part.flat, part.starts
        np.savez(path, languages=np.array(self.languages), **arrays)  # type: ignore[arg-type]

    @classmethod
    def read(cls, path: Path) -> "Dataset":
        """Read what ``write`` wrote."""
        with np.load(path) as stored:
            parts = {name: Ragged(stored[f"{name}_flat"], stored[f"{name}_starts"]) for name in FIELDS}
            return cls(parts, **{name: stored[name] for name in COLUMNS}, languages=tuple(stored["languages"].tolist()))

    def of_kinds(self, kinds: Sequence[str], which: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places in ``which`` of pairs of some kinds."""
        return np.flatnonzero(np.isin(self.kind[which], [KINDS.index(kind) for kind in kinds]))

    def only(self, which: NDArray[np.int64]) -> "Dataset":
        """Return some of the pairs."""
        columns = {name: getattr(self, name)[which] for name in COLUMNS}
        parts = {field: part.only(which) for field, part in self.parts.items()}
        return Dataset(parts, **columns, languages=self.languages)

    @classmethod
    def join(cls, packages: Sequence["Dataset"]) -> "Dataset":
        """Return the pairs of several packages, numbered in their order, without duplicates."""
        languages = tuple(dict.fromkeys(name for data in packages for name in data.languages))
        columns = {name: np.concatenate([getattr(data, name) for data in packages]) for name in COLUMNS}
        columns["package"] = np.repeat(np.arange(len(packages), dtype=np.int32), [len(data) for data in packages])
        columns["language"] = np.concatenate(
            [np.array([languages.index(name) for name in data.languages], np.int32)[data.language] for data in packages]
        )
        first = np.sort(np.unique(columns["key"], return_index=True)[1])
        parts = {field: Ragged.join([data.parts[field] for data in packages]) for field in FIELDS}
        return cls(parts, **columns, languages=languages).only(first)


KINDS = ("doc", "comment", "name", "title")


def encode(pairs: Sequence[Pair], vocabulary: Vocabulary) -> Dataset:
    """Return the pairs of one package as token ids."""
    languages = tuple(dict.fromkeys(pair.language for pair in pairs))
    lists = {field: [vocabulary.ids(getattr(pair, field))[:MOST_TOKENS] for pair in pairs] for field in FIELDS}
    columns = {
        "package": [0] * len(pairs),
        "language": [languages.index(pair.language) for pair in pairs],
        "kind": [KINDS.index(pair.kind) for pair in pairs],
    }
    keys = {
        "code_key": [_key(pair.code) for pair in pairs],
        "text_key": [_key(pair.text.lower()) for pair in pairs],
        "key": [_key(f"{pair.kind}:{''.join(pair.code.split())}:{pair.text.lower()}") for pair in pairs],
    }
    return Dataset(
        {field: Ragged.of(lists[field]) for field in FIELDS},
        **{name: np.array(column, dtype=np.int32) for name, column in columns.items()},
        **{name: np.array(column, dtype=np.int64) for name, column in keys.items()},
        languages=languages,
    )


def _key(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


def held_out(keys: Sequence[str], number: int, seed: int = 40) -> frozenset[str]:
    """Choose the packages that are never learned from; the same list gives the same packages."""
    return frozenset(random.Random(seed).sample(sorted(keys), min(number, len(keys) // 4)))
