"""Opens the active edition of an index with the model that made it.

Readers always embed with that model, whatever the settings say, so that vectors from two models are never compared.
Writers must have the same model in their settings: only ``codequarry migrate`` changes the model of an index.
"""

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from codequarry.shared.catalog.documents import put_document
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.embedding.unavailable_embedder import UnavailableEmbedder
from codequarry.shared.errors import CodequarryError, ModelMismatch, StoreError
from codequarry.shared.index.identity import (
    IDENTITY_KEY,
    OPTIONS,
    Identity,
    check_identity,
    check_strides,
    read_identity,
)
from codequarry.shared.known_models import DEFAULT
from codequarry.shared.settings.config import EmbeddingSettings, SettingsModel
from codequarry.shared.store.editions import Editions
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.versions.head import HEAD_KEY, Move
from codequarry.shared.versions.moves import hold_timelines, successor, switch_edition


def models_folder(settings: SettingsModel) -> Path:
    """Return the folder of models that were installed or placed manually."""
    return settings.home.expanduser() / "models"


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """An open edition; ``degraded`` lists the limitations that every answer must report while it is open."""

    edition: int
    store: Store
    embedder: Embedder
    degraded: tuple[str, ...] = ()

    def close(self) -> None:
        """Close the store and the model."""
        self.store.close()
        self.embedder.close()


def open_index(settings: SettingsModel, editions: Editions, *, interactive: bool = False) -> OpenIndex:
    """Open the active edition for reading; if its model can't be used, answers use words only.

    An empty edition uses the configured model. With ``interactive``, a silent model server is abandoned at once.
    """
    edition, store = open_active(editions)
    identity = read_identity(store) if store else None
    if store and identity:
        embedder = _open_model(identity, settings, interactive)
        return OpenIndex(edition, store, embedder, _complaints(identity, embedder, settings))
    embedder = open_settings_model(settings, interactive=interactive)
    return OpenIndex(edition, store or editions.open(edition, embedder.dimension), embedder)


def open_index_to_write(settings: SettingsModel, editions: Editions) -> OpenIndex:
    """Open the active edition with the configured model; raise ModelMismatch if it has another model or strides."""
    embedder = open_settings_model(settings)
    try:
        edition, store = open_active(editions)
        if store:
            try:
                check_identity(store, embedder, settings.embedding.model)
                check_strides(store, embedder, settings.embedding)
            except ModelMismatch:
                store.close()
                raise
        if store is None:
            store = editions.open(edition, embedder.dimension)
        elif editions.dimension(edition) != embedder.dimension:
            edition, store = _replace_empty(editions, store, embedder.dimension, settings.embedding.model)
        return OpenIndex(edition, store, embedder)
    except BaseException:
        embedder.close()
        raise


def open_active(editions: Editions) -> tuple[int, Store | None]:
    """Return the active edition, and its store if it exists; correct a pointer that a killed migration left behind."""
    pointed = edition = editions.active()
    while True:
        dimension = editions.dimension(edition)
        if dimension is None:
            if (newest := editions.active()) == pointed:
                return edition, None
            pointed = edition = newest  # a migration replaced and deleted the edition between the two reads
            continue
        store = editions.open(edition, dimension)
        move = _move_of(store)
        if move is None or not move.done:
            return edition, store
        store.close()
        edition = move.edition
        with suppress(StoreError):  # impossible without write access; the edition is right anyway
            editions.activate(edition)


def open_settings_model(settings: SettingsModel, *, interactive: bool = False) -> Embedder:
    """Return the configured model."""
    return open_embedder(settings.embedding, models_folder(settings), interactive=interactive)


def _move_of(store: Store) -> Move | None:
    try:
        return read_head(store).move
    except BaseException:
        store.close()
        raise


def _replace_empty(editions: Editions, old: Store, dimension: int, model: str) -> tuple[int, Store]:
    """Replace an empty edition with an edition for vectors of a different length, and return the new edition."""
    with closing(old):
        head = read_head(old)
        if head.timelines:
            raise ModelMismatch("the index is not empty but does not record its model; run `codequarry doctor`")
        edition = max(editions.present()) + 1
        holder = f"to edition {edition}"
        change_head(old, lambda newest: (hold_timelines(newest, holder, edition, model), None), holder)
        store = editions.open(edition, dimension)
        _copy_catalog(old, store)
        change_head(store, lambda _: (successor(head), None))
        change_head(old, lambda newest: (switch_edition(newest, holder, head, ""), None), holder)
    editions.activate(edition)
    return edition, store


def _copy_catalog(old: DocumentStore, new: DocumentStore) -> None:
    """Copy the catalog: keys and jobs may exist before the first repository is indexed."""
    for document in old.list_documents(""):
        if document.key not in (HEAD_KEY, IDENTITY_KEY):
            put_document(new, document.key, document.body)


def _open_model(identity: Identity, settings: SettingsModel, interactive: bool) -> Embedder:
    """Return the model that made the index, or an UnavailableEmbedder if it can't be opened."""
    reasons = []
    for candidate in _candidates(identity, settings.embedding):
        try:
            return _checked(open_embedder(candidate, models_folder(settings), interactive=interactive), identity)
        except CodequarryError as error:
            reasons.append(str(error))
    return UnavailableEmbedder(identity.model, identity.dimension, reasons[0])


def _candidates(identity: Identity, settings: EmbeddingSettings) -> Iterator[EmbeddingSettings]:
    """Yield the settings with which the model may open, most likely first."""
    if settings.model == identity.setting:
        yield settings
    own = {"model": identity.setting, **dict.fromkeys(OPTIONS), **identity.options}
    yield settings.model_copy(update=own)
    yield EmbeddingSettings.model_validate(own)  # the server's address may be for another model
    yield settings  # the model may have a different name now, such as after its folder was moved


def _checked(embedder: Embedder, identity: Identity) -> Embedder:
    """Return the model if it made the index; the name is compared first, because the dimension may need a server."""
    try:
        if embedder.name == identity.model and embedder.dimension == identity.dimension:
            return embedder
        raise ModelMismatch(f"'{identity.setting}' is now {embedder.name}, but {identity.model} made the index")
    except BaseException:
        embedder.close()
        raise


def _complaints(identity: Identity, embedder: Embedder, settings: SettingsModel) -> tuple[str, ...]:
    """Return what answers must report if the model of the index can't be used, and what to do."""
    if not isinstance(embedder, UnavailableEmbedder):
        return ()
    chosen = settings.embedding.model
    other = chosen if chosen != identity.setting else DEFAULT
    return (
        f"embedding: answers use words only, because the model of this index can't be used ({embedder.reason}); "
        f"fix that, or run `codequarry migrate --model {other}`",
    )
