"""A model with eight numbers per text: results do not matter here, only that each text has its own vector."""

import hashlib
from collections.abc import Sequence

import numpy as np

from codequarry.shared.arrays import Matrix, Vector
from codequarry.shared.embedding.port import Window

DIMENSION = 8


class TinyEmbedder:
    """Makes a unit vector from the hash of a text."""

    name = "tiny"
    dimension = DIMENSION
    leaves_machine = False
    max_tokens = None
    preferred_batch = 256

    def windows(self, text: str) -> list[Window]:
        return [Window(0, 0, text)]

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        numbers = np.frombuffer(hashlib.sha256(text.encode()).digest()[:DIMENSION], dtype=np.uint8)
        vector = numbers.astype(np.float32) - 127.5
        return vector / np.linalg.norm(vector)

    def close(self) -> None:
        """Do nothing; there is nothing to release."""
