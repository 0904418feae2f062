"""Pairs as numbers: token ids in flat arrays, one file for training and one for what is held out."""

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
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
        starts = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(one) for one in lists], out=starts[1:])
        return cls(np.fromiter((number for one in lists for number in one), np.int32, int(starts[-1])), starts)

    def take(self, which: NDArray[np.int64]) -> tuple[NDArray[np.int64], Ids]:
        """Return the tokens of some lists: the place in ``which`` of each, and its id."""
        lengths = self.starts[which + 1] - self.starts[which]
        places = np.repeat(np.arange(len(which)), lengths)
        before = np.cumsum(lengths) - lengths
        return places, self.flat[np.arange(lengths.sum()) - np.repeat(before - self.starts[which], lengths)]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Pairs of token lists, and of each: whose it is, in what language, of what kind, and keys of what is equal."""

    parts: dict[str, Ragged]
    package: Ids
    language: Ids
    kind: Ids
    code_key: NDArray[np.int64]
    text_key: NDArray[np.int64]
    languages: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.package)

    def write(self, path: Path) -> None:
        """Write everything to one file."""
        arrays: dict[str, NDArray[np.generic]] = {}
        for name, part in self.parts.items():
            arrays[f"{name}_flat"], arrays[f"{name}_starts"] = part.flat, part.starts
        for name in ("package", "language", "kind", "code_key", "text_key"):
            arrays[name] = getattr(self, name)
        np.savez(path, languages=np.array(self.languages), **arrays)  # type: ignore[arg-type]

    @classmethod
    def read(cls, path: Path) -> "Dataset":
        """Read what was written."""
        with np.load(path) as stored:
            parts = {name: Ragged(stored[f"{name}_flat"], stored[f"{name}_starts"]) for name in FIELDS}
            rest = {name: stored[name] for name in ("package", "language", "kind", "code_key", "text_key")}
            return cls(parts, **rest, languages=tuple(stored["languages"].tolist()))


KINDS = ("doc", "comment", "name")


def encode(packages: Iterable[Sequence[Pair]], vocabulary: Vocabulary) -> Dataset:
    """Return all pairs as token ids, each text and code once in a package and each code once in all."""
    lists: dict[str, list[list[int]]] = {field: [] for field in FIELDS}
    columns: dict[str, list[int]] = {name: [] for name in ("package", "language", "kind", "code_key", "text_key")}
    languages: dict[str, int] = {}
    seen = set[tuple[str, int]]()
    for number, pairs in enumerate(packages):
        for pair in _fresh(pairs, seen):
            for field in FIELDS:
                lists[field].append(vocabulary.ids(getattr(pair, field))[:MOST_TOKENS])
            columns["package"].append(number)
            columns["language"].append(languages.setdefault(pair.language, len(languages)))
            columns["kind"].append(KINDS.index(pair.kind))
            columns["code_key"].append(_key(pair.code))
            columns["text_key"].append(_key(pair.text.lower()))
    return Dataset(
        {field: Ragged.of(lists[field]) for field in FIELDS},
        *(np.array(columns[name], dtype=np.int32) for name in ("package", "language", "kind")),
        *(np.array(columns[name], dtype=np.int64) for name in ("code_key", "text_key")),
        languages=tuple(languages),
    )


def _fresh(pairs: Sequence[Pair], seen: set[tuple[str, int]]) -> Iterator[Pair]:
    for pair in pairs:
        mark = (pair.kind, _key("".join(pair.code.split()) + pair.text.lower()))
        if mark not in seen:
            seen.add(mark)
            yield pair


def _key(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


def held_out(keys: Sequence[str], number: int, seed: int = 40) -> frozenset[str]:
    """Choose the packages that are never learned from, the same ones as long as the list is."""
    return frozenset(random.Random(seed).sample(sorted(keys), min(number, len(keys) // 4)))
