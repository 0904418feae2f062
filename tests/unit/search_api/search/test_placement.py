"""Searches of several versions of one repository: one hit for each declaration, with the versions that have it."""

import pytest

from codequarry.search_api.answers.json import to_json
from codequarry.search_api.search.engine import SearchEngine, parse_request
from codequarry.shared.settings.config import SettingsModel

MAIN, DEV, FIX = ("a" * 40, "b" * 40, "c" * 40)
FIRST = "def load_user(key):\n    return users[key]"
SECOND = "def save_user(user):\n    users[user.key] = user"
CHANGED = "def save_user(user):\n    users[user.key] = user\n    users.sync()"
GAP = "\n\n\n"


@pytest.fixture
def core(versioned_index):
    """Return an index of core: dev changes the second function of a file, fix adds a function before both."""
    index = versioned_index
    main, dev, fix = index.add("core"), index.add("core", "refs/heads/dev"), index.add("core", "refs/heads/fix")
    number = index.publish(main, MAIN, {"f.py": GAP.join((FIRST, SECOND)), "same.py": "def load_all():\n    pass"})
    index.publish(dev, DEV, {"f.py": GAP.join((FIRST, CHANGED))}, base=(main, number), mask=("f.py",))
    moved = GAP.join(("def check_user(user):\n    assert user.key", FIRST, SECOND))
    index.publish(fix, FIX, {"f.py": moved}, base=(main, number), mask=("f.py",))
    return index


@pytest.fixture
def ask(core):
    """Return a function that searches versions of core."""

    def search(query, refs=("main", "dev", "fix"), **fields):
        engine = SearchEngine(core.store, core.embedder, SettingsModel())
        body = {"query": query, "top_k": 20, "filters": {"ref": list(refs)}, **fields}
        return to_json(engine.search(parse_request(body)))

    return search


def versions(item):
    return [(version["ref"], version["start_line"], version["end_line"]) for version in item["versions"]]


def test_an_unchanged_declaration_of_a_changed_file_is_one_hit_with_all_versions(ask):
    (hit,) = [hit for hit in ask("load_user")["results"] if hit["symbol_name"] == "load_user"]
    assert versions(hit) == [("main", 1, 4), ("dev", 1, 4), ("fix", 5, 8)]
    assert (hit["ref"], hit["commit"], hit["start_line"], hit["variants"]) == ("main", MAIN, 1, [])


def test_a_changed_declaration_is_one_hit_with_the_other_text_as_a_variant(ask):
    (hit,) = [hit for hit in ask("save_user")["results"] if hit["symbol_name"] == "save_user"]
    (variant,) = hit["variants"]
    texts = {ref: hit["content_hash"] for ref, _, _ in versions(hit)}
    texts |= {ref: variant["content_hash"] for ref, _, _ in versions(variant)}
    assert set(texts) == {"main", "dev", "fix"}
    assert texts["main"] == texts["fix"] != texts["dev"]
    assert 0 < variant["score"] <= 1
    other = {"main": hit, "dev": variant} if hit["ref"] == "dev" else {"dev": variant, "main": hit}
    assert other["dev"]["blob"] != other["main"]["blob"]


def test_a_declaration_that_one_version_adds_names_only_that_version(ask):
    (hit,) = [hit for hit in ask("check_user")["results"] if hit["symbol_name"] == "check_user"]
    assert (versions(hit), hit["ref"], hit["commit"], hit["variants"]) == ([("fix", 1, 4)], "fix", FIX, [])


def test_a_file_that_no_version_changes_is_in_all_of_them(ask):
    (hit,) = [hit for hit in ask("load_all")["results"] if hit["path"] == "same.py"]
    assert [ref for ref, _, _ in versions(hit)] == ["main", "dev", "fix"]


def test_the_order_of_the_versions_is_that_of_the_request(ask):
    (hit,) = [hit for hit in ask("load_user", ("fix", "main"))["results"] if hit["symbol_name"] == "load_user"]
    assert versions(hit) == [("fix", 5, 8), ("main", 1, 4)]
    assert (hit["ref"], hit["start_line"]) == ("fix", 5)


def test_a_single_version_has_neither_versions_nor_variants(ask):
    hit = ask("load_user", ("dev",))["results"][0]
    assert "versions" not in hit and "variants" not in hit


def test_texts_of_one_declaration_do_not_crowd_out_other_declarations_of_the_file(versioned_index):
    """Thirty branches change one function; the file's other function is still among its two best hits."""
    index = versioned_index
    main = index.add("core")
    number = index.publish(main, MAIN, {"f.py": GAP.join((FIRST, SECOND))})
    names = [f"b{place}" for place in range(30)]
    for place, name in enumerate(names):
        text = GAP.join((FIRST, f"{SECOND}\n    users.sync({place})"))
        index.publish(index.add("core", f"refs/heads/{name}"), f"{place:040x}", {"f.py": text},
                      base=(main, number), mask=("f.py",))  # fmt: skip
    engine = SearchEngine(index.store, index.embedder, SettingsModel())
    body = {"query": "users key", "top_k": 2, "filters": {"ref": ["main", *names]}}
    hits = to_json(engine.search(parse_request(body)))["results"]
    assert {hit["symbol_name"] for hit in hits} == {"load_user", "save_user"}
    by_name = {hit["symbol_name"]: hit for hit in hits}
    assert len(by_name["load_user"]["versions"]) == 31
    assert sum(len(variant["versions"]) for variant in by_name["save_user"]["variants"]) == 30
