"""The model that made an index: an index must never mix vectors from two models."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from codequarry.shared.embedding.port import Embedder
from codequarry.shared.embedding.strides import NO_STRIDES, described_strides
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

STRIDE_OPTIONS = ("context_window", "stride_window", "stride_overlap")


@dataclass(frozen=True, slots=True)
class Identity:
    """``model`` and ``dimension`` of the vectors, and the ``setting`` that chose them; written by the first import.

    ``chunker`` is the version that made the newest chunks; a new version is not an error: files are chunked again.
    ``options`` has the model's other explicit settings, so that it can be opened after the settings change.
    ``strides`` is how chunks longer than the model's window are cut (``described_strides``), or empty in an index of an
    older release.
    """

    model: str
    dimension: int
    chunker: str
    setting: str
    options: Mapping[str, int | str] = field(default_factory=dict)
    strides: str = ""


def read_identity(store: DocumentStore) -> Identity | None:
    """Return the identity of the index, or None if it is empty."""
    document = store.read_document(IDENTITY_KEY)
    return document.decode(Identity) if document else None


def check_identity(store: DocumentStore, embedder: Embedder, setting: str) -> None:
    """Raise ModelMismatch if the index holds vectors from another model; an empty index accepts any model."""
    known = read_identity(store)
    if known and (known.model, known.dimension) != (embedder.name, embedder.dimension):
        raise ModelMismatch(_mismatch(known, embedder, setting))


def check_strides(store: DocumentStore, embedder: Embedder, settings: EmbeddingSettings) -> None:
    """Raise ModelMismatch if chunks in the index were cut into other strides than the settings say.

    Vectors of both could be compared. But a stride is found again by its number, so all must have the same shape.
    """
    known = read_identity(store)
    if known and not has_strides(known, embedder, settings):
        raise ModelMismatch(_other_strides(known, described_strides(embedder.max_tokens, settings), settings.model))


def has_strides(known: Identity, embedder: Embedder, settings: EmbeddingSettings) -> bool:
    """Return whether an index has the strides of the settings."""
    if known.strides:
        return known.strides == described_strides(embedder.max_tokens, settings)
    # Older releases recorded only what was set.
    return all(known.options.get(name) == getattr(settings, name) for name in STRIDE_OPTIONS)


def claim_identity(store: DocumentStore, embedder: Embedder, settings: EmbeddingSettings, chunker: str) -> None:
    """Record the model before the first write; raise ModelMismatch if the index was made with another model.

    ``setting`` and ``options`` stay as first recorded: a service's settings may be older than a migration.
    """
    options = {name: value for name in OPTIONS if (value := getattr(settings, name)) is not None}
    strides = described_strides(embedder.max_tokens, settings)
    chosen = Identity(embedder.name, embedder.dimension, chunker, settings.model, options, strides)
    while True:
        check_identity(store, embedder, settings.model)
        check_strides(store, embedder, settings)
        document = store.read_document(IDENTITY_KEY)
        wanted = replace(document.decode(Identity), chunker=chunker, strides=strides) if document else chosen
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


def _other_strides(known: Identity, strides: str, model: str) -> str:
    made = _shown_strides(known.strides) if known.strides else "other settings of context_window and strides"
    options = {name: known.options.get(name) for name in STRIDE_OPTIONS}
    shown = ", ".join(f"{name} = {value}" if value is not None else f"{name} unset" for name, value in options.items())
    return (
        f"this index was made with {made}, but the settings now give {_shown_strides(strides)}; restore [embedding] "
        f"{shown}, or run `codequarry migrate --model {model}`, which embeds only the long chunks again"
    )


def _shown_strides(strides: str) -> str:
    if strides == NO_STRIDES:
        return "no strides"
    limit, window, overlap = strides.split("/")
    return f"strides of {window} tokens that overlap by {overlap} in a window of {limit}"


def _mismatch(known: Identity, embedder: Embedder, setting: str) -> str:
    made = f"this index was made with model '{known.model}' ({known.dimension} dimensions)"
    now = f"the settings choose '{embedder.name}' ({embedder.dimension})"
    same = "restore the [embedding] settings and the model's files"
    # Older indexes store a folder as it was written; setting the same folder again would not help.
    is_other = resolve_model_folder(known.setting, Path.cwd()) != setting
    back = f"set CODEQUARRY_EMBEDDING__MODEL={known.setting}" if is_other else same
    return f"{made}, but {now}; {back}, or run `codequarry migrate --model {setting}` to change the index's model"
