"""The embedding cache: from the hash of model and text to the vector."""

import numpy as np
import pytest

from codequarry.shared.errors import ModelMismatch
from codequarry.shared.model import Filters


class TestCache:
    def test_an_unknown_key_is_left_out(self, store):
        assert store.cached_vectors(["a", "b"]) == {}
        assert store.cached_vectors([]) == {}

    def test_cached_vectors_are_returned_bit_for_bit(self, store, make_vector):
        kept = {f"key {number}": make_vector(f"seed {number}") for number in range(50)}
        store.cache_vectors(kept)
        found = store.cached_vectors([*kept, "unknown"])
        assert set(found) == set(kept)
        for key, vector in kept.items():
            assert found[key].dtype == np.float32
            np.testing.assert_array_equal(found[key], vector)

    def test_another_store_object_finds_them_at_once(self, store, open_store, make_vector):
        other = open_store()
        assert other.cached_vectors(["a"]) == {}
        store.cache_vectors({"a": make_vector("a")})
        assert list(other.cached_vectors(["a"])) == ["a"]

    def test_vectors_of_rows_are_cached_too(self, store, make_row, write, make_vector):
        write(store, make_row(vector_key="of a row"))
        np.testing.assert_array_equal(store.cached_vectors(["of a row"])["of a row"], make_vector("of a row"))

    def test_the_first_vector_of_a_key_stays(self, store, make_vector):
        store.cache_vectors({"a": make_vector("first")})
        store.cache_vectors({"a": make_vector("second"), "b": make_vector("b")})
        np.testing.assert_array_equal(store.cached_vectors(["a"])["a"], make_vector("first"))

    def test_caching_writes_no_rows(self, store, make_vector, snapshot):
        store.cache_vectors({"a": make_vector("a")})
        store.refresh()
        assert store.count(snapshot(), Filters()) == 0

    def test_keys_can_come_from_a_generator_and_repeat(self, store, make_vector):
        store.cache_vectors({"a": make_vector("a")})
        assert list(store.cached_vectors(key for key in ("a", "a", "b"))) == ["a"]

    def test_thousands_of_vectors_are_cached_at_once(self, store, make_vector):
        kept = {f"{number:064d}": make_vector(str(number)) for number in range(3000)}
        store.cache_vectors(kept)
        assert set(store.cached_vectors(kept)) == set(kept)

    def test_an_empty_mapping_can_be_cached(self, store):
        store.cache_vectors({})

    def test_a_vector_of_another_dimension_is_refused(self, store, make_vector, dimension):
        with pytest.raises(ModelMismatch, match=str(dimension)):
            store.cache_vectors({"a": make_vector("a"), "b": np.ones(dimension - 1, np.float32)})
        assert store.cached_vectors(["a", "b"]) == {}

    def test_changing_a_returned_vector_does_not_change_the_cache(self, store, make_vector):
        store.cache_vectors({"a": make_vector("a")})
        store.cached_vectors(["a"])["a"][:] = 0
        np.testing.assert_array_equal(store.cached_vectors(["a"])["a"], make_vector("a"))
