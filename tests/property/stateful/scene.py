"""One index that many sequences share, and the settings under which they run."""

from dataclasses import dataclass, field
from pathlib import Path

from codequarry.ingest.request.index_request import Workshop
from codequarry.shared.settings.config import OpenSearchSettings, PathRule, SettingsModel
from codequarry.shared.store.factory import open_store
from codequarry.shared.store.port import Store
from tests.property.stateful.embedder import TinyEmbedder

MAX_BYTES = 60
# Trees are small here; most versions must become overlays, and some full.
MAX_SHARE = 0.8
# Each variant decides differently about some files or cuts them differently.
VARIANTS: tuple[dict[str, object], ...] = (
    {},
    {"scan": {"max_file_bytes": MAX_BYTES}},
    {"scan": {"exclude": ("docs/",)}},
    {"path_rules": (PathRule(glob="src/**", tags=("inner",)),)},
    {"history": {"commits": 2, "diffs": 1}},
    {"history": {"commits": 0}},
    {"chunking": {"target_tokens": 20, "max_tokens": 40, "overlap_tokens": 0}},
)


@dataclass
class Scene:
    """A store and a home folder; every sequence has its own repository in them."""

    folder: Path
    opensearch: OpenSearchSettings | None = None
    keep_commits: int = 3
    sequences: int = 0
    embedder: TinyEmbedder = field(default_factory=TinyEmbedder)

    def __post_init__(self) -> None:
        self.variants = [self._settings(variant) for variant in VARIANTS]
        self.store: Store = open_store(self.variants[0], self.embedder.dimension)

    def _settings(self, variant: dict[str, object]) -> SettingsModel:
        engine = {"store": "opensearch", "opensearch": self.opensearch} if self.opensearch else {}
        return SettingsModel(
            home=self.folder / "home",
            indexing={"processes": 0, "grace_seconds": 0, "batch_files": 3, "overlay_max_share": MAX_SHARE},
            retention={"keep_commits": self.keep_commits, "grace_seconds": 0},
            **engine,
            **variant,
        )

    def workshop(self, variant: int, store: Store | None = None) -> Workshop:
        return Workshop(store or self.store, self.embedder, self.variants[variant])

    def new_name(self) -> str:
        self.sequences += 1
        return f"project{self.sequences}"

    def close(self) -> None:
        self.store.close()
