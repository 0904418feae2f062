"""Field filters and path globs, in the search and in the count."""

import pytest

from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.filters import FILTERABLE_FIELDS, path_matches
from codequarry.shared.model import Filters, PathGlobs
from codequarry.shared.store.records import RecallQuery

# For each filterable field: its value in one row, and the fields of this row and of a row that does not match.
VALUES = {
    "aggregate": ("orders", {"aggregate": "orders"}, {}),
    "blob": ("b1", {"blob": "b1"}, {"blob": "b2"}),
    "calls": ("open", {"calls": ("close", "open")}, {"calls": ("reopen",)}),
    "content_hash": ("h1", {"content_hash": "h1"}, {"content_hash": "h2"}),
    "defines": ("Store", {"defines": ("Store", "Port")}, {"defines": ("store",)}),
    "dependencies": ("numpy", {"dependencies": ("numpy",)}, {"dependencies": ("numpy-stl",)}),
    "derived": ("true", {"derived": True}, {"derived": False}),
    "encoding": ("latin-1", {"encoding": "latin-1"}, {}),
    "exported": ("false", {"exported": False}, {"exported": True}),
    "exports": ("run", {"exports": ("run",)}, {"exports": ()}),
    "id": ("chunk-1", {"id": "chunk-1"}, {"id": "chunk-11"}),
    "imports": ("os.path", {"imports": ("sys", "os.path")}, {"imports": ("os",)}),
    "kind_of_file": ("test", {"kind_of_file": "test"}, {"kind_of_file": "source"}),
    "language": ("c++", {"language": "c++"}, {"language": "c"}),
    "masked": ("true", {"masked": True}, {"masked": False}),
    "microservice": ("billing", {"microservice": "billing"}, {"microservice": "billing-api"}),
    "package": ("a.b", {"package": "a.b"}, {"package": "a.b.c"}),
    "qualified_name": ("a.B::c", {"qualified_name": "a.B::c"}, {"qualified_name": "a.B"}),
    "references": ("größe", {"references": ("größe",)}, {"references": ("grösse",)}),
    "repo": ("my repo/x", {"repo": "my repo/x"}, {"repo": "my"}),
    "symbol_kind": ("data class", {"symbol_kind": "data class"}, {"symbol_kind": "class"}),
    "symbol_name": ("getUser", {"symbol_name": "getUser"}, {"symbol_name": "getuser"}),
    "symbol_type": ("class", {"symbol_type": "class"}, {"symbol_type": "function"}),
    "symbols": ("parse", {"symbols": ("parse", "Parser")}, {"symbols": ("Parser",)}),
    "tags": ("hot path", {"tags": ("new", "hot path")}, {"tags": ("hot", "path")}),
}


@pytest.fixture
def fitting(store, snapshot):
    """Return a function that maps filters to the paths of matching chunks, and checks that count and recall agree."""

    def paths(filters: Filters, seen=None) -> list[str]:
        seen = seen or snapshot()
        found = store.recall(RecallQuery(seen, filters=filters, terms=("word",), term_limit=1000)).candidates.values()
        assert store.count(seen, filters) == len(found)
        return sorted(candidate.chunk.path for candidate in found)

    return paths


def only(**terms: str | tuple[str, ...]) -> Filters:
    return Filters(terms=tuple((name, (value,) if isinstance(value, str) else value) for name, value in terms.items()))


def but(**terms: str) -> Filters:
    return Filters(excluded=tuple((name, (value,)) for name, value in terms.items()))


class TestFields:
    def test_every_filterable_field_has_a_value_here(self):
        assert set(VALUES) == set(FILTERABLE_FIELDS)

    def test_each_field_filters_by_its_exact_value(self, store, make_row, write, fitting):
        for name, (_, has, has_not) in VALUES.items():
            write(
                store, make_row("word", f"{name}/yes.py", born=2, **has), make_row("word", f"{name}/no.py", **has_not)
            )
        for name, (value, _, _) in VALUES.items():
            here = PathGlobs((f"/{name}/",))
            assert fitting(Filters(terms=((name, (value,)),), paths=here)) == [f"{name}/yes.py"], name
            assert fitting(Filters(excluded=((name, (value,)),), paths=here)) == [f"{name}/no.py"], name

    def test_a_row_without_a_field_matches_no_value_and_no_exclusion(self, store, make_row, write, fitting):
        write(store, make_row("word", "unset.py"), make_row("word", "set.py", exported=True, package="p"))
        assert fitting(only(exported=("true", "false"))) == ["set.py"]
        assert fitting(but(package="p")) == ["unset.py"]
        assert fitting(only(package="")) == []

    def test_any_value_of_a_field_and_all_fields_must_match(self, store, make_row, write, fitting):
        for language in ("go", "rust", "python"):
            for kind in ("test", "source"):
                write(store, make_row("word", f"{language}/{kind}", language=language, kind_of_file=kind))
        assert fitting(only(language=("go", "rust"), kind_of_file="test")) == ["go/test", "rust/test"]
        mixed = Filters(
            terms=(("language", ("go", "rust")),), excluded=(("kind_of_file", ("test",)), ("language", ("go",)))
        )
        assert fitting(mixed) == ["rust/source"]

    def test_a_field_given_twice_must_match_twice(self, store, make_row, write, fitting):
        write(store, make_row("word", "both", tags=("a", "b")), make_row("word", "one", tags=("a",)))
        assert fitting(Filters(terms=(("tags", ("a",)), ("tags", ("b",))))) == ["both"]

    def test_an_empty_list_of_values_matches_nothing_and_excludes_nothing(self, store, make_row, write, fitting):
        write(store, make_row("word", "a.py"))
        assert fitting(Filters(terms=(("language", ()),))) == []
        assert fitting(Filters(excluded=(("language", ()),))) == ["a.py"]

    def test_config_is_a_family_of_languages(self, store, make_row, write, fitting):
        family = ("config", "ini", "java properties", "json", "toml", "yaml")
        for language in (*family, "python"):
            write(store, make_row("word", language, language=language))
        assert fitting(only(language="config")) == sorted(family)
        assert fitting(only(language="yaml")) == ["yaml"]
        assert fitting(but(language="config")) == ["python"]

    def test_hundreds_of_values_are_allowed(self, store, make_row, write, fitting):
        write(store, *(make_row("word", f"{number:03d}", tags=(f"tag-{number}",)) for number in range(30)))
        wanted = tuple(f"tag-{number}" for number in range(10, 800))
        assert fitting(only(tags=wanted)) == [f"{number:03d}" for number in range(10, 30)]

    def test_an_unknown_field_is_named(self, store, snapshot):
        for filters in (only(colour="red"), but(colour="red")):
            with pytest.raises(UnknownName, match="unknown filter 'colour'; known: aggregate, "):
                store.count(snapshot(), filters)
            with pytest.raises(UnknownName, match="colour"):
                store.recall(RecallQuery(snapshot(), filters=filters))

    def test_internal_fields_are_unknown(self, store, snapshot):
        for name in ("timeline", "born", "died", "text", "path", "vector_key"):
            with pytest.raises(UnknownName):
                store.count(snapshot(), only(**{name: "1"}))

    def test_a_boolean_is_true_or_false(self, store, snapshot):
        with pytest.raises(UsageError, match="'masked' must be true or false, not 'yes'"):
            store.count(snapshot(), only(masked="yes"))

    def test_strides_are_filtered_with_their_chunk(self, store, make_row, write, snapshot, make_vector):
        write(store, *(make_row("word", "a.py", stride=(index, 3), language="go") for index in range(3)))
        assert store.count(snapshot(), only(language="go")) == 1
        for language, expected in (("go", 1), ("python", 0)):
            query = RecallQuery(snapshot(), filters=only(language=language), vector=make_vector("q"))
            assert len(store.recall(query).by_vector) == expected


PATHS = [
    "README.md",
    "setup.py",
    "src/app.py",
    "src/app.pyi",
    "src/store/port.py",
    "src/store/tests/test_port.py",
    "tests/test_app.py",
    "tests/data/a b.json",
    "docs/tests.md",
    "docs/[draft].md",
    "docs/ünï.md",
    "docs/line\nbreak.md",
    "a.b/c+d/(e)|{f}/$^.py",
    "very/deep/folder/of/many/names/x.py",
]
GLOBS = {
    "*.py": [path for path in PATHS if path.endswith(".py")],
    "tests": [path for path in PATHS if "tests/" in path],
    "tests/": [path for path in PATHS if "tests/" in path],
    "/tests/": [path for path in PATHS if path.startswith("tests/")],
    "/tests": [path for path in PATHS if path.startswith("tests/")],
    "src/store": ["src/store/port.py", "src/store/tests/test_port.py"],
    "src/*.py": ["src/app.py"],
    "src/**/*.py": ["src/app.py", "src/store/port.py", "src/store/tests/test_port.py"],
    "**/test_*.py": ["src/store/tests/test_port.py", "tests/test_app.py"],
    "/*.py": ["setup.py"],
    "./setup.py": ["setup.py"],
    "src/app.py?": ["src/app.pyi"],
    "test_[a-o]*": ["tests/test_app.py"],
    "test_[!a-o]*": ["src/store/tests/test_port.py"],
    "docs/\\[draft\\].md": ["docs/[draft].md"],
    "*ü*": ["docs/ünï.md"],
    "line*break.md": ["docs/line\nbreak.md"],
    "a.b/c+d/(e)|{f}/$^.py": ["a.b/c+d/(e)|{f}/$^.py"],
    "a b.json": ["tests/data/a b.json"],
    "very/**/x.py": ["very/deep/folder/of/many/names/x.py"],
    "**": PATHS,
    "port": [],
    "store/port.py": [],
    "README": [],
    "readme.md": [],
}


class TestGlobs:
    def test_globs_match_the_expected_paths(self, store, make_row, write, fitting):
        write(store, *(make_row("word", path) for path in PATHS))
        for glob, expected in GLOBS.items():
            assert fitting(Filters(paths=PathGlobs((glob,)))) == sorted(expected), glob
            rest = sorted(set(PATHS) - set(expected))
            assert fitting(Filters(paths=PathGlobs(exclude=(glob,)))) == rest, glob

    def test_any_include_must_match_and_no_exclude(self, store, make_row, write, fitting):
        write(store, *(make_row("word", path) for path in PATHS))
        for globs in (
            PathGlobs(("src", "docs"), ("tests", "*.md")),
            PathGlobs(("*.py", "*.md"), ("src/store/",)),
            PathGlobs((), ("*.py", "docs/*")),
        ):
            assert fitting(Filters(paths=globs)) == sorted(path for path in PATHS if path_matches(globs, path))

    def test_globs_and_fields_must_both_match(self, store, make_row, write, fitting):
        write(
            store, make_row("word", "src/a.py"), make_row("word", "src/b.py", language="go"), make_row("word", "c.py")
        )
        assert fitting(Filters(terms=(("language", ("python",)),), paths=PathGlobs(("src/",)))) == ["src/a.py"]

    def test_paths_written_after_the_first_search_are_found(self, store, make_row, write, fitting):
        globs = Filters(paths=PathGlobs(("src",)))
        write(store, make_row("word", "src/a.py"))
        assert fitting(globs) == ["src/a.py"]
        write(store, make_row("word", "src/b.py"), make_row("word", "lib/c.py"))
        assert fitting(globs) == ["src/a.py", "src/b.py"]

    @pytest.mark.parametrize("glob", ["", "./", "[z-a].py", "[[:alpha:]].py", "*" + "?a" * 500])
    def test_an_invalid_glob_is_refused(self, store, snapshot, glob):
        with pytest.raises(UsageError, match="glob"):
            store.count(snapshot(), Filters(paths=PathGlobs(exclude=(glob,))))
