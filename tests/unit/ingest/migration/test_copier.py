"""Which rows a migration copies: those that readers may still ask for."""

from itertools import product

import pytest

from codequarry.ingest.migration.copier import Copier
from codequarry.ingest.transaction.copy_extent import CopyExtent
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.errors import UsageError
from codequarry.shared.model import Layer
from codequarry.shared.settings.config import EmbeddingSettings
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.versions.head import Head, Timeline
from codequarry.shared.versions.snapshots import OPEN, is_live


def test_exactly_the_rows_visible_at_kept_or_pinned_numbers_are_copied():
    hidden = frozenset({4, 9})
    timelines = {1: Timeline("a", 8, "c", floor=6), 2: Timeline("a", 7, "d", ref="r", pins=frozenset({(1, 2)}))}
    head = Head(counter=12, open={9: 1}, aborted=frozenset({4}), timelines=timelines, defaults={"a": 1})
    extent = CopyExtent.of(head, 1, -1)
    asked = [number for number in (2, 6, 7, 8) if number not in hidden]
    for born, died in product(range(1, 12), (*range(2, 12), OPEN)):
        if born >= died:
            continue
        seen = any(is_live(Layer((1,), at, hidden), 1, born, died, "p") for at in asked)
        assert extent.has(born, died) == seen, (born, died)


def test_only_rows_published_since_the_last_pass_are_copied():
    head = Head(counter=12, timelines={1: Timeline("a", 8, "c")}, defaults={"a": 1})
    extent = CopyExtent.of(head, 1, 5)
    assert [born for born in range(12) if extent.has(born, OPEN)] == [6, 7, 8]


def test_a_retirement_by_a_hidden_number_does_not_count():
    head = Head(counter=12, open={11: 1}, aborted=frozenset({4}), timelines={1: Timeline("a", 8, "c")})
    extent = CopyExtent.of(head, 1, -1)
    assert [extent.death(number) for number in (3, 4, 8, 11, OPEN)] == [3, OPEN, 8, OPEN, OPEN]


def test_every_pass_first_checks_that_the_model_may_read_new_repositories(tmp_path):
    def forbid():
        raise UsageError("one of them may not leave this machine")

    embedder = open_embedder(EmbeddingSettings(), tmp_path)
    old, new = (EmbeddedStore(tmp_path / name, embedder.dimension) for name in ("old", "new"))
    head = Head(counter=1, timelines={1: Timeline("a", 1, "c")}, defaults={"a": 1})
    copier = Copier(old, new, embedder, {}, lambda *_: None, forbid)
    with pytest.raises(UsageError, match="may not leave"):
        copier.catch_up(head)
    assert copier.until == {}
    for opened in (old, new, embedder):
        opened.close()
