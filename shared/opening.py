"""Opening an index as a whole: its active edition, with the model that made it.

Readers always embed with that model, whatever the settings say meanwhile, so that vectors of two models never meet.
Writers must have the same one in their settings: a model is changed by ``codequarry migrate``, never by the way.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from codequarry.shared.config import EmbeddingSettings, SettingsModel
from codequarry.shared.embedding.absent import AbsentEmbedder
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.embedding.known import DEFAULT
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import CodequarryError, ModelMismatch, StoreError
from codequarry.shared.head import Move
from codequarry.shared.ledger import change_head, read_head
from codequarry.shared.moving import hold_still, leave
from codequarry.shared.store.editions import Editions
from codequarry.shared.store.identity import OPTIONS, Identity, check_identity, read_identity
from codequarry.shared.store.port import Store

MODELS_FOLDER = "models"


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


def open_index(settings: SettingsModel, editions: Editions) -> OpenIndex:
    """Open the active edition for reading; a model that can't be used leaves the answers lexical.

    An edition that holds nothing yet takes the settings' model.
    """
    edition, store = open_active(editions)
    identity = read_identity(store) if store else None
    if store and identity:
        embedder = _model_of(identity, settings)
        return OpenIndex(edition, store, embedder, _complaints(identity, embedder, settings))
    embedder = open_settings_model(settings)
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
        if store and editions.dimension(edition) != embedder.dimension:
            edition, store = _leave_empty(editions, edition, store, settings.embedding.model), None
        return OpenIndex(edition, store or editions.open(edition, embedder.dimension), embedder)
    except BaseException:
        embedder.close()
        raise


def open_active(editions: Editions) -> tuple[int, Store | None]:
    """Return the edition where the index is, and its store if it was made already.

    A migration that died between its last two steps left the pointer behind; it is set right here.
    """
    edition = editions.active()
    while True:
        dimension = editions.dimension(edition)
        if dimension is None:
            return edition, None
        store = editions.open(edition, dimension)
        move = _move_of(store)
        if move is None or not move.done:
            return edition, store
        store.close()
        edition = move.edition
        with suppress(StoreError):  # who may only read can't; the edition is the right one all the same
            editions.activate(edition)


def open_settings_model(settings: SettingsModel) -> Embedder:
    """Return the model of the settings."""
    return open_embedder(settings.embedding, settings.home.expanduser() / MODELS_FOLDER)


def _move_of(store: Store) -> Move | None:
    try:
        return read_head(store).move
    except BaseException:
        store.close()
        raise


def _leave_empty(editions: Editions, edition: int, store: Store, model: str) -> int:
    """Leave an edition that holds nothing for one with vectors of another length, and return that one's number."""
    head = read_head(store)
    try:
        if head.timelines:
            raise ModelMismatch("the index says nothing of its model and is not empty; run `codequarry doctor`")
        fresh = max(editions.present()) + 1
        holder = f"empty edition {edition}"
        change_head(store, lambda newest: (leave(hold_still(newest, holder, fresh, model), holder, head, ""), None))
    finally:
        store.close()
    editions.activate(fresh)
    return fresh


def _model_of(identity: Identity, settings: SettingsModel) -> Embedder:
    """Return the model that made the index, or one that only has its name."""
    reasons = []
    for candidate in _candidates(identity, settings.embedding):
        try:
            return _checked(open_embedder(candidate, settings.home.expanduser() / MODELS_FOLDER), identity)
        except CodequarryError as error:
            reasons.append(str(error))
    return AbsentEmbedder(identity.model, identity.dimension, reasons[0])


def _candidates(identity: Identity, settings: EmbeddingSettings) -> Iterator[EmbeddingSettings]:
    """Yield the settings by which the model may be opened.

    As they are; with what belongs to a model as it was; and without what may be for another model, a server's address.
    """
    if settings.model == identity.setting:
        yield settings
    own = {"model": identity.setting, **dict.fromkeys(OPTIONS), **identity.options}
    yield settings.model_copy(update=own)
    yield EmbeddingSettings.model_validate(own)


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
    if not isinstance(embedder, AbsentEmbedder):
        return ()
    chosen = settings.embedding.model
    other = chosen if chosen != identity.setting else DEFAULT
    return (
        f"embedding: answers are by words alone, since the model of this index can't be used ({embedder.reason}); "
        f"mend that, or run `codequarry migrate --model {other}`",
    )
