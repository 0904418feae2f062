"""The model that made an index: an index must never mix vectors from two models."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import Conflict, ModelMismatch
from codequarry.shared.known_models import resolve_model_folder
from codequarry.shared.settings.config import EmbeddingSettings
from codequarry.shared.store.port import DocumentStore

IDENTITY_KEY = "identity"
# The [embedding] settings that belong to the model. A server's address and key do not, and are not stored.
OPTIONS = (
    "dimensions", "context_window", "stride_window", "stride_overlap",
    "query_prefix", "document_prefix", "query_input_type", "document_input_type",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Identity:
    """``model`` and ``dimension`` of the vectors, and the ``setting`` that chose them; written by the first import.

    ``chunker`` is the version that made the newest chunks; a new version is not an error: files are chunked again.
    ``options`` has the model's other explicit settings, so that it can be opened after the settings change.
    """

    model: str
    dimension: int
    chunker: str
    setting: str
    options: Mapping[str, int | str] = field(default_factory=dict)


def read_identity(store: DocumentStore) -> Identity | None:
    """Return the identity of the index, or None if it is empty."""
    document = store.read_document(IDENTITY_KEY)
    return document.decode(Identity) if document else None


def check_identity(store: DocumentStore, embedder: Embedder, setting: str) -> None:
    """Raise ModelMismatch if the index holds vectors from another model; an empty index accepts any model."""
    known = read_identity(store)
    if known and (known.model, known.dimension) != (embedder.name, embedder.dimension):
        raise ModelMismatch(_mismatch(known, embedder, setting))


def claim_identity(store: DocumentStore, embedder: Embedder, settings: EmbeddingSettings, chunker: str) -> None:
    """Record the model before the first write; raise ModelMismatch if the index was made with another model.

    ``setting`` and ``options`` stay as first recorded: a service's settings may be older than a migration.
    """
    options = {name: value for name in OPTIONS if (value := getattr(settings, name)) is not None}
    chosen = Identity(embedder.name, embedder.dimension, chunker, settings.model, options)
    while True:
        check_identity(store, embedder, settings.model)
        document = store.read_document(IDENTITY_KEY)
        wanted = replace(document.decode(Identity), chunker=chunker) if document else chosen
        if document and document.body == asdict(wanted):
            return
        try:
            store.write_document(IDENTITY_KEY, asdict(wanted), document.version if document else None)
        except Conflict:
            continue
        return


def forget_identity(store: DocumentStore) -> None:
    """Let an index that has become empty accept another model."""
    store.delete_document(IDENTITY_KEY)


def restore_identity(store: DocumentStore, identity: Identity) -> None:
    """Restore an identity that was forgotten too early, unless the index has a new identity."""
    with suppress(Conflict):
        store.write_document(IDENTITY_KEY, asdict(identity), None)


def _mismatch(known: Identity, embedder: Embedder, setting: str) -> str:
    made = f"this index was made with model '{known.model}' ({known.dimension} dimensions)"
    now = f"the settings choose '{embedder.name}' ({embedder.dimension})"
    same = "restore the [embedding] settings and the model's files"
    # Older indexes store a folder as it was written; setting the same folder again would not help.
    is_other = resolve_model_folder(known.setting, Path.cwd()) != setting
    back = f"set CODEQUARRY_EMBEDDING__MODEL={known.setting}" if is_other else same
    return f"{made}, but {now}; {back}, or run `codequarry migrate --model {setting}` to change the index's model"
