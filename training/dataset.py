"""Pairs as numbers: token ids in flat arrays, one file for training and one for what is held out."""

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
# Tokens of one part that are learned from.
MOST_TOKENS = 256
FIELDS = ("text", "path", "head", "code")


@dataclass(frozen=True, slots=True)
class Ragged:
    """Lists of token ids: list ``i`` is ``flat[starts[i]:starts[i + 1]]``."""

    flat: Ids
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> "Ragged":
        """Lay lists one after the other."""
        lengths = np.array([len(one) for one in lists], dtype=np.int64)
        flat = np.fromiter((number for one in lists for number in one), np.int32, int(lengths.sum()))
        return cls(flat, _starts(lengths))

    @classmethod
    def join(cls, several: Sequence["Ragged"]) -> "Ragged":
        """Lay several one after the other."""
        lengths = np.concatenate([np.diff(one.starts) for one in several])
        return cls(np.concatenate([one.flat for one in several]), _starts(lengths))

    def only(self, which: NDArray[np.int64]) -> "Ragged":
        """Return some of the lists."""
        return Ragged(self.take(which)[1], _starts(self.starts[which + 1] - self.starts[which]))

    def take(self, which: NDArray[np.int64]) -> tuple[NDArray[np.int64], Ids]:
        """Return the tokens of some lists: the place in ``which`` of each, and its id."""
        lengths = self.starts[which + 1] - self.starts[which]
        places = np.repeat(np.arange(len(which)), lengths)
        before = np.cumsum(lengths) - lengths
        return places, self.flat[np.arange(lengths.sum()) - np.repeat(before - self.starts[which], lengths)]


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


COLUMNS = ("package", "language", "kind", "code_key", "text_key", "key")


@dataclass(frozen=True, slots=True)
class Dataset:
    """Pairs of token lists, and of each: whose it is, in what language, of what kind, and keys of what is equal.

    ``key`` is that of the whole pair, white space in its code aside.
    """

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
        """Read what was written."""
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
        """Return the pairs of several packages, numbered in their order, each pair once."""
        languages = tuple(dict.fromkeys(name for one in packages for name in one.languages))
        columns = {name: np.concatenate([getattr(one, name) for one in packages]) for name in COLUMNS}
        columns["package"] = np.repeat(np.arange(len(packages), dtype=np.int32), [len(one) for one in packages])
        columns["language"] = np.concatenate(
            [np.array([languages.index(name) for name in one.languages], np.int32)[one.language] for one in packages]
        )
        first = np.sort(np.unique(columns["key"], return_index=True)[1])
        parts = {field: Ragged.join([one.parts[field] for one in packages]) for field in FIELDS}
        return cls(parts, **columns, languages=languages).only(first)


KINDS = ("doc", "comment", "name", "title")


def encode(pairs: Sequence[Pair], vocabulary: Vocabulary) -> Dataset:
    """Return the pairs of one package as token ids."""
    languages = tuple(dict.fromkeys(pair.language for pair in pairs))
    lists = {field: [vocabulary.ids(getattr(one, field))[:MOST_TOKENS] for one in pairs] for field in FIELDS}
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
    """Choose the packages that are never learned from, the same ones as long as the list is."""
    return frozenset(random.Random(seed).sample(sorted(keys), min(number, len(keys) // 4)))
