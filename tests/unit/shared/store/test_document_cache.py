"""The cache of documents that a store has read."""

from codequarry.shared.store import document_cache
from codequarry.shared.store.document_cache import DocumentCache
from codequarry.shared.store.records import Document


def test_the_newest_document_of_each_key_is_cached_with_its_index():
    memory = DocumentCache()
    assert memory.take("head") is None
    memory.keep(Document("head", {"counter": 1}, "v1"), "index-1")
    newest = memory.keep(Document("head", {"counter": 2}, "v2"), "index-2")
    assert memory.take("head") == ("index-2", newest)
    memory.drop("head")
    memory.drop("never read")
    assert memory.take("head") is None


def test_the_least_recently_used_documents_are_dropped(monkeypatch):
    monkeypatch.setattr(document_cache, "_KEPT_DOCUMENTS", 3)
    memory = DocumentCache()
    for number in range(3):
        memory.keep(Document(str(number), {}, "v"))
    memory.take("0")
    memory.keep(Document("3", {}, "v"))
    assert [key for key in "0123" if memory.take(key)] == ["0", "2", "3"]
