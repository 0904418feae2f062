"""Reads CoSQA (Huang et al. 2021) from a folder: the development half of its queries, and the functions."""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Cosqa:
    """Queries and functions; ``right`` has for each query the place of its function in ``codes``."""

    queries: list[str]
    codes: list[str]
    right: list[int]


def read_cosqa(folder: Path) -> Cosqa:
    """Read the 500 development queries and all 6,267 functions."""
    asked = json.loads((folder / "cosqa-retrieval-dev-500.json").read_text(encoding="utf-8"))
    places = json.loads((folder / "code_idx_map.txt").read_text(encoding="utf-8"))
    codes = [code for code, _ in sorted(places.items(), key=lambda item: item[1])]
    return Cosqa([query["doc"] for query in asked], codes, [query["retrieval_idx"] for query in asked])
