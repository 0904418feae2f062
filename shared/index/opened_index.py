"""Opening an index as a whole: its active edition, with the model that made it.

Readers always embed with that model, whatever the settings say meanwhile, so that vectors of two models never meet.
Writers must have the same one in their settings: a model is changed by ``codequarry migrate``, never by the way.
"""

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from codequarry.shared.catalog.documents import put_document
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.embedding.unavailable_embedder import UnavailableEmbedder
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import CodequarryError, ModelMismatch, StoreError
from codequarry.shared.index.identity import IDENTITY_KEY, OPTIONS, Identity, check_identity, read_identity
from codequarry.shared.known_models import DEFAULT
from codequarry.shared.settings.config import EmbeddingSettings, SettingsModel
from codequarry.shared.store.editions import Editions
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.versions.head import HEAD_KEY, Move
from codequarry.shared.versions.moves import hold_timelines, switch_edition, successor


def models_folder(settings: SettingsModel) -> Path:
    """Return where models that were installed or placed by hand are."""
    return settings.home.expanduser() / "models"


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """An edition, open: ``degraded`` is what every answer has to say of it, for as long as it is open."""

    edition: int
    store: Store
    embedder: Embedder
    degraded: tuple[str, ...] = ()

    def close(self) -> None:
        """Close store and model."""
        self.store.close()
        self.embedder.close()


def open_index(settings: SettingsModel, editions: Editions, *, interactive: bool = False) -> OpenIndex:
    """Open the active edition for reading; a model that can't be used leaves the answers lexical.

    An edition that holds nothing yet takes the settings' model. ``prompt`` if a client waits: then a model's server
    that does not answer is given up at once.
    """
    edition, store = open_active(editions)
    identity = read_identity(store) if store else None
    if store and identity:
        embedder = _model_of(identity, settings, interactive)
        return OpenIndex(edition, store, embedder, _complaints(identity, embedder, settings))
    embedder = open_settings_model(settings, interactive=interactive)
    return OpenIndex(edition, store or editions.open(edition, embedder.dimension), embedder)


def open_index_to_write(settings: SettingsModel, editions: Editions) -> OpenIndex:
    """Open the active edition with the settings' model; ModelMismatch if it was made with another one."""
    embedder = open_settings_model(settings)
    try:
        edition, store = open_active(editions)
        if store:
            try:
                check_identity(store, embedder, settings.embedding.model)
            except ModelMismatch:
                store.close()
                raise
        if store is None:
            store = editions.open(edition, embedder.dimension)
        elif editions.dimension(edition) != embedder.dimension:
            edition, store = _leave_empty(editions, store, embedder.dimension, settings.embedding.model)
        return OpenIndex(edition, store, embedder)
    except BaseException:
        embedder.close()
        raise


def open_active(editions: Editions) -> tuple[int, Store | None]:
    """Return the edition where the index is, and its store if it was made already.

    A migration that died between its last two steps left the pointer behind; it is set right here.
    """
    pointed = edition = editions.active()
    while True:
        dimension = editions.dimension(edition)
        if dimension is None:
            if (newest := editions.active()) == pointed:
                return edition, None
            pointed = edition = newest  # it was left and deleted between the two looks
            continue
        store = editions.open(edition, dimension)
        move = _move_of(store)
        if move is None or not move.done:
            return edition, store
        store.close()
        edition = move.edition
        with suppress(StoreError):  # who may only read can't; the edition is the right one all the same
            editions.activate(edition)


def open_settings_model(settings: SettingsModel, *, interactive: bool = False) -> Embedder:
    """Return the model of the settings."""
    return open_embedder(settings.embedding, models_folder(settings), interactive=interactive)


def _move_of(store: Store) -> Move | None:
    try:
        return read_head(store).move
    except BaseException:
        store.close()
        raise


def _leave_empty(editions: Editions, old: Store, dimension: int, model: str) -> tuple[int, Store]:
    """Leave an edition that holds nothing for one with vectors of another length, and return that one."""
    with closing(old):
        head = read_head(old)
        if head.timelines:
            raise ModelMismatch("the index says nothing of its model and is not empty; run `codequarry doctor`")
        edition = max(editions.present()) + 1
        holder = f"to edition {edition}"
        change_head(old, lambda newest: (hold_timelines(newest, holder, edition, model), None), holder)
        store = editions.open(edition, dimension)
        _carry_over(old, store)
        change_head(store, lambda _: (successor(head), None))
        change_head(old, lambda newest: (switch_edition(newest, holder, head, ""), None), holder)
    editions.activate(edition)
    return edition, store


def _carry_over(old: DocumentStore, new: DocumentStore) -> None:
    """Copy the catalog: keys and jobs may have come before the first repository was indexed."""
    for document in old.list_documents(""):
        if document.key not in (HEAD_KEY, IDENTITY_KEY):
            put_document(new, document.key, document.body)


def _model_of(identity: Identity, settings: SettingsModel, interactive: bool) -> Embedder:
    """Return the model that made the index, or one that only has its name."""
    reasons = []
    for candidate in _candidates(identity, settings.embedding):
        try:
            return _checked(open_embedder(candidate, models_folder(settings), interactive=interactive), identity)
        except CodequarryError as error:
            reasons.append(str(error))
    return UnavailableEmbedder(identity.model, identity.dimension, reasons[0])


def _candidates(identity: Identity, settings: EmbeddingSettings) -> Iterator[EmbeddingSettings]:
    """Yield the settings by which the model may be opened.

    As they are, where they name it; with what belongs to a model as it was; without what may be for another model, a
    server's address; and as they are although they name it otherwise, as after a folder was moved.
    """
    if settings.model == identity.setting:
        yield settings
    own = {"model": identity.setting, **dict.fromkeys(OPTIONS), **identity.options}
    yield settings.model_copy(update=own)
    yield EmbeddingSettings.model_validate(own)
    yield settings


def _checked(embedder: Embedder, identity: Identity) -> Embedder:
    """Return the model if its vectors are those of the index; the name comes first: a dimension may ask a server."""
    try:
        if embedder.name == identity.model and embedder.dimension == identity.dimension:
            return embedder
        raise ModelMismatch(f"'{identity.setting}' is now {embedder.name}, and the index has {identity.model}")
    except BaseException:
        embedder.close()
        raise


def _complaints(identity: Identity, embedder: Embedder, settings: SettingsModel) -> tuple[str, ...]:
    """Return what answers have to say of an index whose model is not there, and what to do about it."""
    if not isinstance(embedder, UnavailableEmbedder):
        return ()
    chosen = settings.embedding.model
    other = chosen if chosen != identity.setting else DEFAULT
    return (
        f"embedding: answers are by words alone, since the model of this index can't be used ({embedder.reason}); "
        f"mend that, or run `codequarry migrate --model {other}`",
    )
