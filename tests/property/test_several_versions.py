"""A search of several versions says exactly what searches of each version say, declaration by declaration."""

from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codequarry.search_api.answers.json import to_json
from codequarry.search_api.search.engine import SearchEngine, parse_request
from codequarry.shared.settings.config import SettingsModel

GAP = "\n\n\n"
PATHS = ("a.py", "b.py", "lib/a.py")
BLOCKS = [f"def value_{name}():\n    return {body}" for name in "xyz" for body in range(3)]
# Text without a name: only likeness tells what belongs together.
BLOCKS += [f"value = {number}\nother = {number % 2}\nthird = 3" for number in range(3)]
FILES = st.dictionaries(
    st.sampled_from(PATHS), st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=5).map(GAP.join), max_size=3
)
# Commits of the default branch, and branches: the place of the commit that each lies on, and its changes to it.
CHANGES = st.dictionaries(
    st.sampled_from(PATHS), st.none() | st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=5).map(GAP.join)
)
HISTORIES = st.lists(FILES, min_size=1, max_size=4)
BRANCHES = st.lists(st.tuples(st.integers(0, 3), CHANGES), min_size=1, max_size=4)
_numbers = count()


def build(index, commits, branches):
    """Write a new repository; return its name and the names of its versions."""
    repo = f"core{next(_numbers)}"
    main = index.add(repo)
    numbers, before = [], {}
    for place, files in enumerate(commits):
        gone = dict.fromkeys(before.keys() - files.keys())
        numbers.append(index.publish(main, f"{place:040x}", {**files, **gone}))
        before = files
    for place, (on, changes) in enumerate(branches):
        timeline = index.add(repo, f"refs/heads/b{place}")
        base = main, numbers[min(on, len(numbers) - 1)]
        index.publish(timeline, f"{100 + place:040x}", changes, base=base, mask=tuple(changes))
    return repo, ["main", *(f"b{place}" for place in range(len(branches)))]


def ask(index, repo, refs, top_k=200):
    """Return every hit of a search of some versions."""
    engine = SearchEngine(index.store, index.embedder, SettingsModel())
    body = {"query": "value", "top_k": top_k, "max_per_file": 200, "filters": {"repo": repo, "ref": refs}}
    answer = to_json(engine.search(parse_request(body)))
    hits = answer["results"]
    while cursor := answer["next_cursor"]:
        answer = to_json(engine.search(parse_request({**body, "cursor": cursor})))
        hits += answer["results"]
    return hits


def of_one(hits, texts):
    """Return what an answer about one version states, and remember the text of each hash, without blank lines."""
    texts |= {hit["content_hash"]: hit["text"].strip("\n") for hit in hits}
    return {(hit["ref"], hit["path"], hit["symbol_name"], texts[hit["content_hash"]]) for hit in hits}


def of_several(hits, texts):
    """Return what an answer about several versions states; check that it states nothing twice."""
    stated = [
        (version["ref"], hit["path"], hit["symbol_name"], texts[text["content_hash"]], version["start_line"])
        for hit in hits
        for text in (hit, *hit["variants"])
        for version in text["versions"]
    ]
    assert len(stated) == len(set(stated))
    for hit in hits:
        assert (hit["ref"], hit["start_line"]) == (hit["versions"][0]["ref"], hit["versions"][0]["start_line"])
    return {(ref, path, name, text) for ref, path, name, text, _ in stated}


def check(index, commits, branches, top_k):
    repo, refs = build(index, commits, branches)
    texts = {}
    expected = set().union(*(of_one(ask(index, repo, [ref]), texts) for ref in refs))
    assert of_several(ask(index, repo, refs, top_k), texts) == expected


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(commits=HISTORIES, branches=BRANCHES, top_k=st.sampled_from([3, 200]))
def test_several_versions_say_what_each_version_says(versioned_index, commits, branches, top_k):
    check(versioned_index, commits, branches, top_k)


@pytest.mark.opensearch
@settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(commits=HISTORIES, branches=BRANCHES)
def test_several_versions_say_what_each_version_says_on_opensearch(versioned_opensearch_index, commits, branches):
    check(versioned_opensearch_index, commits, branches, 200)
