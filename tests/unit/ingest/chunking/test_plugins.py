"""Chunkers of other packages: entry points of packages that are really on the path."""

import sys
from contextlib import closing
from dataclasses import replace

import pytest

from codequarry.ingest.chunking.chunker import chunk_file
from codequarry.ingest.chunking.installed_plugins import installed_plugins
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.plugins import PluginFailed
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.ingest.files.read_file import ReadingRules
from codequarry.ingest.files.reading_order import ReadingOrder
from codequarry.ingest.files.reading_pool import open_readers
from codequarry.ingest.files.scan import PathRules
from codequarry.ingest.git.trees import TreeEntry, list_tree
from codequarry.ingest.secrets.policy import SecretRules
from codequarry.shared.errors import CodequarryError, UsageError
from codequarry.shared.settings.config import SettingsModel

SIZES = Sizes(40, 80, 0)
SETTINGS = SettingsModel(languages={"map": {".recipe": "recipe"}})
PLUGIN = """
from codequarry.ingest.chunking.plugins import PluginChunk

def cut(text, path):
    for number, line in enumerate(text.split("\\n"), 1):
        if line.startswith("dish "):
            name = line.removeprefix("dish ")
            yield PluginChunk(number, name=name, kind="dish", type="function", defines=(name,))
"""
RECIPES = "# Our recipes\n\ndish soup\n  water\n  salt\ndish bread\n  flour\n"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a package with a plug-in, or another release of it, on this process's path."""
    installed_plugins.cache_clear()
    monkeypatch.syspath_prepend(tmp_path)

    def install(code=PLUGIN, *, language="recipe", package="kitchen", release="1.0"):
        sys.modules.pop(package, None)
        (tmp_path / f"{package}.py").write_text(code)
        for old in tmp_path.glob(f"{package}-*.dist-info"):
            old.rename(tmp_path / f"old-{old.name.removesuffix('.dist-info')}")
        metadata = tmp_path / f"{package}-{release}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {release}\n")
        (metadata / "entry_points.txt").write_text(f"[codequarry.chunkers]\n{language} = {package}:cut\n")
        installed_plugins.cache_clear()
        return tmp_path

    yield install
    installed_plugins.cache_clear()
    for name in ("kitchen", "bakery"):
        sys.modules.pop(name, None)


def cut(text=RECIPES, language="recipe"):
    return chunk_file(SourceFile("acme/shop", "a.recipe", "b10b", language, text), SIZES, installed_plugins())


def test_no_plugin_is_installed_by_default():
    installed_plugins.cache_clear()
    assert installed_plugins() == ()


def test_a_plugin_names_the_chunks_of_its_language(install):
    install()
    chunks = cut()
    assert [(chunk.start_line, chunk.end_line, chunk.symbol_name) for chunk in chunks] == [
        (1, 2, None), (3, 5, "soup"), (6, 7, "bread"),
    ]  # fmt: skip
    assert (chunks[1].symbol_type, chunks[1].symbol_kind, chunks[1].defines) == ("function", "dish", ("soup",))


def test_a_plugin_for_a_known_language_comes_before_our_own_code(install):
    install(language="SQL")
    assert [chunk.symbol_kind for chunk in cut(language="sql")] == [None, "dish", "dish"]


def test_a_chunk_of_a_plugin_that_is_too_large_is_cut_into_parts(install):
    install()
    chunks = cut("dish stew\n" + "  a carrot\n" * 100)
    assert {chunk.symbol_name for chunk in chunks} == {"stew"}
    assert chunks[0].symbol_part == f"1/{len(chunks)}"


def test_a_plugin_may_leave_a_file_to_be_cut_by_lines(install):
    install("def cut(text, path):\n    return None\n")
    (chunk,) = cut()
    assert chunk.text == RECIPES


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return 1 / 0", "ZeroDivisionError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("return [1]", "it returned int instead of PluginChunk"),
        ("return 5", "TypeError"),
        ("return [PluginChunk(0)]", "line 0 is not between 1 and 7"),
        ("return [PluginChunk(3), PluginChunk(2)]", "line 2 is not between 4 and 7"),
        ("return [PluginChunk(8)]", "line 8 is not between 1 and 7"),
        ("return [PluginChunk(1, type='dish')]", "'dish' is no type of symbol"),
        ("return [PluginChunk('1')]", "TypeError"),
        ("import nowhere_at_all", "ModuleNotFoundError"),
    ],
)
def test_an_error_of_a_plugin_names_the_plugin(install, body, message):
    install(f"from codequarry.ingest.chunking.plugins import PluginChunk\ndef cut(text, path):\n    {body}\n")
    with pytest.raises(PluginFailed, match=f"the plug-in kitchen 1.0 failed: .*{message}"):
        cut()


def test_a_plugin_that_cant_be_imported_is_an_error_of_the_plugin(install):
    install("import nowhere_at_all\n")
    with pytest.raises(PluginFailed, match="No module named 'nowhere_at_all'"):
        cut()


def test_two_plugins_for_a_language_are_refused(install):
    install()
    install(package="bakery")
    with pytest.raises(UsageError, match=r"two plug-ins cut 'recipe': bakery 1\.0 and kitchen 1\.0; uninstall one"):
        installed_plugins()


def test_another_version_than_the_runs_is_an_error_of_the_run(install):
    install(release="1.1")
    (plugin,) = installed_plugins()
    with pytest.raises(CodequarryError, match=r"with the plug-in kitchen 1\.2, but this process has kitchen 1\.1"):
        chunk_file(SourceFile("r", "a", "b", "recipe", RECIPES), SIZES, [replace(plugin, version="1.2")])
    with pytest.raises(CodequarryError, match="this process does not have it"):
        chunk_file(SourceFile("r", "a", "b", "recipe", RECIPES), SIZES, [replace(plugin, package="canteen")])


def rules_of(path):
    return PathRules(SETTINGS).decide(TreeEntry(path, "100644", "b" * 40, 10)).rules


def test_the_version_of_a_plugin_is_part_of_the_rules_of_its_files_only(install):
    digest, own, other, unknown = PathRules(SETTINGS).digest, rules_of("a.recipe"), rules_of("a.py"), rules_of("a")
    install()
    first = (PathRules(SETTINGS).digest, rules_of("a.recipe"), rules_of("a"))
    install(release="1.1")
    second = (PathRules(SETTINGS).digest, rules_of("a.recipe"), rules_of("a"))
    assert (
        len({digest, first[0], second[0]})
        == len({own, first[1], second[1]})
        == len({unknown, first[2], second[2]})
        == 3
    )
    assert rules_of("a.py") == other


def test_reading_processes_use_the_plugin_and_survive_its_errors(install, make_repository, fetch):
    failing = PLUGIN + "    if 'burnt' in text: raise ValueError('burnt')\n"
    folder = install(failing)
    fetched = fetch(make_repository(files={"good.recipe": RECIPES, "bad.recipe": "dish burnt\n"}).origin)
    mirror = fetched.mirror
    mirror = replace(mirror, environment={**mirror.environment, "PYTHONPATH": str(folder)})
    rules = PathRules(SETTINGS)
    tasks = [rules.decide(entry) for entry in list_tree(mirror.folder, mirror.environment, fetched.commit)]
    order = ReadingOrder(mirror, ReadingRules.of("r", SETTINGS, SecretRules()))
    with closing(open_readers(order, 1)) as readers:
        found = {file.task.path: file for file in readers.read(tasks)}
    names = [piece.chunk.symbol_name for piece in found["good.recipe"].pieces if not piece.chunk.is_summary]
    assert names == [None, "soup", "bread"]
    assert found["bad.recipe"].verdict == "chunker-failed"
    assert found["bad.recipe"].detail.endswith("the plug-in kitchen 1.0 failed: ValueError: burnt")
