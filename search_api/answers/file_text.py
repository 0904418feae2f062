"""Lines of an indexed file."""

from dataclasses import dataclass

from codequarry.search_api.answers.freshness import Freshness


# No slots: the MCP library would mistake them for defaults, and the tool would have no schema.
@dataclass(frozen=True)
class FileText:
    """Lines of a file at an indexed version; ``branch`` is null if the version is not a branch."""

    repo: str
    path: str
    ref: str
    branch: str | None
    commit: str
    blob: str
    language: str
    start_line: int
    end_line: int
    total_lines: int
    text: str
    freshness: Freshness
