"""Documents: read in real time, changed only by compare-and-set."""

import threading

import pytest

from codequarry.shared.errors import Conflict


class TestReadAndWrite:
    def test_a_document_that_was_never_written_is_none(self, store):
        assert store.read_document("head") is None

    def test_a_written_document_is_read_at_once_and_whole(self, store):
        body = {"counter": 3, "open": {"3": 1}, "list": [1, "zwei", None, 2.5, True], "nested": {"": {}}}
        written = store.write_document("head", body, None)
        read = store.read_document("head")
        assert (read.key, dict(read.body), read.version) == ("head", body, written.version)

    def test_an_update_is_read_by_another_store_object_at_once(self, store, open_store):
        first = store.write_document("head", {"counter": 1}, None)
        other = open_store()
        store.write_document("head", {"counter": 2}, first.version)
        assert other.read_document("head").body == {"counter": 2}

    def test_a_reader_sees_every_later_change(self, store, open_store):
        other = open_store()
        version = None
        for counter in range(4):
            version = store.write_document("head", {"counter": counter, "list": [counter]}, version).version
            for reader in (other, store, other):
                assert reader.read_document("head").body == {"counter": counter, "list": [counter]}
                assert reader.read_document("head").version == version
        other.delete_document("head")
        assert store.read_document("head") is other.read_document("head") is None
        other.write_document("head", {"counter": 0}, None)
        assert store.read_document("head").body == {"counter": 0}

    def test_an_unchanged_document_is_not_parsed_again(self, store):
        store.write_document("head", {"counter": 1}, None)
        assert store.read_document("head").body is store.read_document("head").body

    def test_a_large_body_of_changing_keys_is_kept(self, store):
        body = {"timelines": {str(number): {"repo": f"r{number}", f"key-{number}": number} for number in range(3000)}}
        store.write_document("head", body, None)
        assert store.read_document("head").body == body

    def test_fields_may_change_their_type_between_writes_and_documents(self, store):
        first = store.write_document("a", {"value": 1}, None)
        store.write_document("a", {"value": {"deep": ["x"]}}, first.version)
        store.write_document("b", {"value": "2026-01-01"}, None)
        assert store.read_document("a").body == {"value": {"deep": ["x"]}}

    @pytest.mark.parametrize("key", ["repository:my repo/ä", "a:b:c", "50% off?#&", "quote\"'\\", "日本"])
    def test_any_text_is_a_key(self, store, key):
        store.write_document(key, {"key": key}, None)
        assert store.read_document(key).body == {"key": key}


class TestCompareAndSet:
    def test_creating_a_document_that_exists_is_a_conflict(self, store):
        store.write_document("head", {}, None)
        with pytest.raises(Conflict):
            store.write_document("head", {"late": True}, None)
        assert store.read_document("head").body == {}

    def test_a_stale_version_conflicts_and_changes_nothing(self, store):
        first = store.write_document("head", {"counter": 1}, None)
        store.write_document("head", {"counter": 2}, first.version)
        with pytest.raises(Conflict):
            store.write_document("head", {"counter": 3}, first.version)
        assert store.read_document("head").body == {"counter": 2}

    def test_the_version_of_a_deleted_document_conflicts(self, store):
        first = store.write_document("head", {}, None)
        store.delete_document("head")
        with pytest.raises(Conflict):
            store.write_document("head", {"late": True}, first.version)
        assert store.read_document("head") is None

    def test_a_version_from_before_deletion_conflicts_with_the_new_document(self, store):
        first = store.write_document("head", {"life": 1}, None)
        store.delete_document("head")
        store.write_document("head", {"life": 2}, None)
        with pytest.raises(Conflict):
            store.write_document("head", {"life": 3}, first.version)

    def test_no_increment_of_eight_writers_is_lost(self, store, open_store):
        store.write_document("counter", {"value": 0}, None)

        def increment(opened):
            for _ in range(5):
                while True:
                    seen = opened.read_document("counter")
                    try:
                        opened.write_document("counter", {"value": seen.body["value"] + 1}, seen.version)
                        break
                    except Conflict:
                        continue

        threads = [threading.Thread(target=increment, args=(open_store(),)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.read_document("counter").body == {"value": 40}


class TestDeleteAndList:
    def test_deleting_a_missing_document_is_allowed(self, store):
        store.delete_document("nothing")

    def test_a_changed_document_is_not_deleted_at_its_old_version(self, store):
        first = store.write_document("job:1", {"state": "failed"}, None)
        second = store.write_document("job:1", {"state": "queued"}, first.version)
        with pytest.raises(Conflict):
            store.delete_document("job:1", first.version)
        assert store.read_document("job:1").body == {"state": "queued"}
        store.delete_document("job:1", second.version)
        assert store.read_document("job:1") is None
        store.delete_document("job:1", second.version)

    def test_documents_are_listed_by_prefix_in_order_of_keys(self, store):
        for key in ("transaction:2", "transaction:10", "transaction:1", "transactions", "repository:1", "transaction"):
            store.write_document(key, {"key": key}, None)
        listed = store.list_documents("transaction:")
        assert [document.key for document in listed] == ["transaction:1", "transaction:10", "transaction:2"]
        assert [document.body["key"] for document in listed] == [document.key for document in listed]

    def test_the_list_holds_every_write_that_returned_and_no_deleted_document(self, store):
        for number in range(30):
            store.write_document(f"progress:{number:02d}", {"number": number}, None)
            if number % 3 == 0:
                store.delete_document(f"progress:{number:02d}")
            assert len(store.list_documents("progress:")) == number - number // 3
        assert store.list_documents("nothing:") == []

    def test_a_listed_version_can_be_used_for_the_next_write(self, store):
        store.write_document("repository:a", {"branch": "main"}, None)
        (listed,) = store.list_documents("repository:")
        store.write_document("repository:a", {"branch": "next"}, listed.version)
        assert store.read_document("repository:a").body == {"branch": "next"}

    def test_an_empty_prefix_lists_every_document(self, store):
        store.write_document("head", {}, None)
        store.write_document("repository:a", {}, None)
        assert [document.key for document in store.list_documents("")] == ["head", "repository:a"]
