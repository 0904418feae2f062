"""What an index was made with: vectors of two models must never meet in one index."""

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
# What of [embedding] belongs to a model; a server's address and key belong to the place, and are not kept.
OPTIONS = (
    "dimensions", "context_window", "stride_window", "stride_overlap",
    "query_prefix", "document_prefix", "query_input_type", "document_input_type",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Identity:
    """Written with the first import: ``model`` and ``dimension`` of the vectors, and the ``setting`` that chose them.

    ``chunker`` is the version that cut the newest chunks; another one is no error, it only cuts files anew.
    ``options`` are the other settings of the model that were not at their defaults, so that it can be opened when the
    settings are for another one.
    """

    model: str
    dimension: int
    chunker: str
    setting: str
    options: Mapping[str, int | str] = field(default_factory=dict)


def read_identity(store: DocumentStore) -> Identity | None:
    """Return what the index was made with; None for an empty one."""
    document = store.read_document(IDENTITY_KEY)
    return document.decode(Identity) if document else None


def check_identity(store: DocumentStore, embedder: Embedder, setting: str) -> None:
    """Raise ModelMismatch if the index holds vectors of another model; an empty index takes any."""
    known = read_identity(store)
    if known and (known.model, known.dimension) != (embedder.name, embedder.dimension):
        raise ModelMismatch(_mismatch(known, embedder, setting))


def claim_identity(store: DocumentStore, embedder: Embedder, settings: EmbeddingSettings, chunker: str) -> None:
    """Record what the index is made with, before the first write; ModelMismatch if it was made with another model.

    How its model was chosen stays as the first claim says: a service may index with the model of an index that was
    moved while its settings still name the one before.
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
    """Let an index that holds nothing any more take another model."""
    store.delete_document(IDENTITY_KEY)


def restore_identity(store: DocumentStore, identity: Identity) -> None:
    """Record again what was forgotten too early, unless the index has been given a model since."""
    with suppress(Conflict):
        store.write_document(IDENTITY_KEY, asdict(identity), None)


def _mismatch(known: Identity, embedder: Embedder, setting: str) -> str:
    made = f"this index was made with model '{known.model}' ({known.dimension} dimensions)"
    now = f"the settings choose '{embedder.name}' ({embedder.dimension})"
    same = "restore the [embedding] settings and the model's files as they were"
    # Older indexes have a folder as it was written: the same one would be the way back to itself.
    is_other = resolve_model_folder(known.setting, Path.cwd()) != setting
    back = f"set CODEQUARRY_EMBEDDING__MODEL={known.setting}" if is_other else same
    return f"{made}, but {now}: {back}, or run `codequarry migrate --model {setting}` to change the index's model"
