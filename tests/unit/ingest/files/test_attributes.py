"""What attribute files say about paths, compared with git itself."""

import os
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codequarry.ingest.files.attributes import (
    DOCUMENTATION,
    GENERATED,
    LANGUAGE,
    UNSAID,
    VENDORED,
    AttributeFiles,
    PathAttributes,
)
from codequarry.ingest.files.lister import ListingOrder
from codequarry.ingest.files.listing import list_files
from codequarry.ingest.files.scan import PathRules
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.index import IndexingSettings

NAMES = (GENERATED, VENDORED, DOCUMENTATION, LANGUAGE)


def said(path: str, **files: str) -> PathAttributes:
    """Return what attribute files say, given by folder (`top` is the root)."""
    named = {("" if folder == "top" else folder).encode(): text.encode() for folder, text in files.items()}
    return AttributeFiles(named).of(path)


@pytest.mark.parametrize(
    ("lines", "path", "expected"),
    [
        ("*.pb linguist-generated", "a/x.pb", PathAttributes(generated=True)),
        ("*.pb linguist-generated=true", "x.pb", PathAttributes(generated=True)),
        ("*.pb -linguist-generated", "x.pb", PathAttributes(generated=False)),
        ("*.pb linguist-generated=false", "x.pb", PathAttributes(generated=False)),
        ("*.pb linguist-generated\nx.* !linguist-generated", "x.pb", PathAttributes()),
        ("*.pb linguist-generated\n*.pb -linguist-generated", "x.pb", PathAttributes(generated=False)),
        ("lib/** linguist-vendored", "lib/a/b.c", PathAttributes(vendored=True)),
        ("lib/ linguist-vendored", "lib/a.c", PathAttributes()),
        ("lib linguist-vendored", "lib/a.c", PathAttributes()),
        ("/a.c linguist-vendored", "b/a.c", PathAttributes()),
        ("*.h linguist-language=C++ linguist-documentation", "a.h", PathAttributes(documentation=True, language="C++")),
        ('"a b.c" linguist-vendored', "a b.c", PathAttributes(vendored=True)),
        ("[attr]gen linguist-generated -diff\n*.x gen", "a.x", PathAttributes(generated=True)),
        ("[attr]gen linguist-generated\n*.x gen\na.x -gen", "a.x", PathAttributes()),
        ("*.x text\n!*.x linguist-generated\n[ linguist-vendored", "a.x", PathAttributes()),
    ],
)
def test_lines_are_read_as_git_reads_them(lines, path, expected):
    assert said(path, top=lines + "\n") == expected


def test_the_nearest_file_decides_and_knows_only_its_own_folder():
    files = {"top": "*.go linguist-generated\n", "a/b": "*.go -linguist-generated\n/x.go linguist-vendored\n"}
    assert said("c.go", **files) == PathAttributes(generated=True)
    assert said("a/c.go", **files) == PathAttributes(generated=True)
    assert said("a/b/x.go", **files) == PathAttributes(generated=False, vendored=True)
    assert said("a/b/c/x.go", **files) == PathAttributes(generated=False)
    assert said("a/bc/x.go", **files) == PathAttributes(generated=True)


def test_a_version_without_such_attributes_costs_nothing():
    assert said("a.py", top="* text=auto\n*.png binary\n") is UNSAID


PATTERNS = st.sampled_from(
    [
        "*",
        "*.c",
        "a.c",
        "/a.c",
        "d/*.c",
        "d/**",
        "**/e/*",
        "d/",
        "d",
        "e/a.c",
        "[a-b].c",
        "?.c",
        '"a.c"',
        "\\a.c",
        "!a.c",
    ]
)
SETTINGS = st.sampled_from(
    [
        prefix + name + suffix
        for name in ("linguist-generated", "linguist-vendored", "mac")
        for prefix, suffix in (("", ""), ("-", ""), ("!", ""), ("", "=true"), ("", "=false"))
    ]
)
LINES = st.builds(
    lambda pattern, words: " ".join([pattern, *words]), PATTERNS, st.lists(SETTINGS, min_size=1, max_size=3)
)
MACROS = st.sampled_from(["", "[attr]mac linguist-generated", "[attr]mac -linguist-vendored linguist-generated=true"])
FILE = st.lists(LINES, max_size=4).map("\n".join)
PATHS = ["a.c", "b.c", "ab.c", "d/a.c", "d/b.x", "d/e/a.c", "d/e/f/b.c", "e/a.c"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(macro=MACROS, top=FILE, inner=FILE, deep=FILE)
def test_any_lines_mean_what_they_mean_to_git(tmp_path, macro, top, inner, deep):
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ATTR_NOSYSTEM": "1"}
    if not (tmp_path / ".git").exists():
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        (tmp_path / "d/e").mkdir(parents=True)
    files = {b"": f"{macro}\n{top}\n", b"d": inner, b"d/e": deep}
    for folder, text in files.items():
        (tmp_path / folder.decode() / ".gitattributes").write_text(text)
    command = ["git", "-C", str(tmp_path), "check-attr", "-z", GENERATED, VENDORED, "--", *PATHS]
    words = subprocess.run(command, capture_output=True, check=True, env=environment).stdout.decode().split("\0")
    meaning = {"set": True, "unset": False, "true": True, "false": False, "unspecified": None}
    theirs = {tuple(words[at : at + 2]): meaning[words[at + 2]] for at in range(0, len(words) - 1, 3)}
    attributes = AttributeFiles({folder: text.encode() for folder, text in files.items()})
    for path in PATHS:
        ours = attributes.of(path)
        assert (ours.generated, ours.vendored) == (theirs[path, GENERATED], theirs[path, VENDORED]), path


@pytest.mark.parametrize("processes", [0, None])
def test_the_attribute_files_of_a_commit_are_read_at_any_depth(make_repository, fetch, processes):
    files = {
        ".editorconfig": "x\n",
        ".gitattributes": "*.x linguist-generated\n*.go linguist-language=C\n",
        "a.x": "x\n",
        "lib/.gitattributes": "* linguist-vendored\n",
        "lib/b.c": "x\n",
        "lib/b.go": "x\n",
        "z.go": "x\n",
    }
    fetched = fetch(make_repository(files=files).origin)
    rules = PathRules(SettingsModel())
    order = ListingOrder(fetched.mirror.folder, fetched.mirror.environment, fetched.commit, rules, 100)
    tasks = {task.path: task for task in list_files(order, IndexingSettings(processes=processes))}
    kinds = {path: tasks[path].kind for path in ("a.x", "lib/b.c", "lib/b.go", "z.go")}
    assert kinds == {"a.x": "generated", "lib/b.c": "vendored", "lib/b.go": "vendored", "z.go": "source"}
    assert tasks["z.go"].language == "c"


def test_large_many_and_strange_attribute_files_have_no_effect(make_repository, fetch):
    repository = make_repository(
        files={
            "a.c": "x\n",
            ".gitattributes": "*.c linguist-vendored\n" + "# \n" * 60_000,
            "d/.gitattributes": b"\xff\0\n*.c linguist-generated\n" + b"*a" * 2000 + b" linguist-vendored\n",
            "d/a.c": "x\n",
            "e/.gitattributes/f": "x\n",
            "e/a.c": "x\n",
        }
    )
    (repository.folder / "f").mkdir()
    (repository.folder / "f/.gitattributes").symlink_to("../d/.gitattributes")
    repository.write("f/a.c", "x\n")
    repository.commit()
    fetched = fetch(repository.origin)
    order = ListingOrder(
        fetched.mirror.folder, fetched.mirror.environment, fetched.commit, PathRules(SettingsModel()), 100
    )
    kinds = {task.path: task.kind for task in list_files(order, IndexingSettings()) if task.path.endswith("a.c")}
    assert kinds == {"a.c": "source", "d/a.c": "generated", "e/a.c": "source", "f/a.c": "source"}


def test_patterns_that_take_a_backtracking_matcher_hours_are_matched():
    lines = "".join(f"{'*a' * 12}{number}*b linguist-generated\n" for number in range(200))
    attributes = AttributeFiles({b"": lines.encode()})
    assert attributes.of("a" * 240) is UNSAID
    assert attributes.of("a" * 240 + "7b") == PathAttributes(generated=True)
