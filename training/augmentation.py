"""Random changes to both sides of a pair, so that the model does not depend on one wording."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from training.dataset import KINDS, Dataset
from training.recipe import Recipe

TokenLists = tuple[tuple[int, ...], ...]
_NAMES = (KINDS.index("name"), KINDS.index("title"))


def bag(places: NDArray[np.int64], ids: NDArray[np.int32], shape: tuple[int, int]) -> sparse.csr_matrix:
    """Return sqrt(tf) of each token in each text, as a matrix (texts, tokens)."""
    counted = sparse.coo_matrix((np.ones(len(ids), np.float32), (places, ids)), shape=shape).tocsr()
    counted.sum_duplicates()
    counted.data = np.sqrt(counted.data)
    return counted


@dataclass(frozen=True, slots=True)
class Augmentation:
    """Changes pairs at random; ``questions`` are token lists put before texts, ``languages`` are names as tokens."""

    recipe: Recipe
    questions: TokenLists
    languages: TokenLists
    tokens: int

    def texts(self, data: Dataset, which: NDArray[np.int64], chance: np.random.Generator) -> sparse.csr_matrix:
        """Return the bags of the texts: with some words dropped, and some texts as a question."""
        recipe = self.recipe
        places, ids = data.parts["text"].take(which)
        order = np.arange(len(ids)) - np.searchsorted(places, places)
        words = chance.integers(recipe.fewest_words, recipe.most_words + 1, size=len(which))
        is_short = chance.random(len(which)) < recipe.short_share
        kept = ~is_short[places] | (order < words[places])
        kept &= chance.random(len(ids)) >= recipe.text_dropout
        asked = np.flatnonzero(chance.random(len(which)) < recipe.question_share)
        forms = chance.integers(len(self.questions), size=len(asked))
        more = [(row, token) for row, form in zip(asked, forms, strict=True) for token in self.questions[form]]
        named = np.flatnonzero(chance.random(len(which)) < recipe.language_share)
        more += [(row, token) for row in named for token in self.languages[data.language[which[row]]]]
        extra = np.array(more, dtype=np.int64).reshape(-1, 2)
        rows = np.concatenate([places[kept], extra[:, 0]])
        return bag(rows, np.concatenate([ids[kept], extra[:, 1].astype(np.int32)]), (len(which), self.tokens))

    def codes(self, data: Dataset, which: NDArray[np.int64], chance: np.random.Generator) -> sparse.csr_matrix:
        """Return the bags of the code: sometimes with its path and head, and with some tokens dropped."""
        found = []
        recipe, keep = self.recipe, 1 - self.recipe.code_dropout
        # A name is the whole text of its pair: if the code contained it, there would be nothing to learn.
        documented = recipe.doc_share * ~np.isin(data.kind[which], _NAMES)
        shares = (
            ("path", recipe.path_share, keep),
            ("head", recipe.head_share, keep),
            ("text", documented, recipe.doc_words),
            ("code", 1.0, keep),
        )
        for part, share, of_tokens in shares:
            places, ids = data.parts[part].take(which)
            shown = chance.random(len(which)) < share
            kept = shown[places] & (chance.random(len(ids)) < of_tokens)
            found.append((places[kept], ids[kept]))
        rows, tokens = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        return bag(rows, tokens, (len(which), self.tokens))
