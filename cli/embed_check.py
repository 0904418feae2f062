"""`codequarry embed-check`: how near two texts are to the embedding model, or what is nearest to one, and why."""

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codequarry.cli.asking import Branch, Commit, Languages, Paths, Pull, Repos, Tag, Workspace, version_filter
from codequarry.cli.console import note, write_json
from codequarry.cli.invocation import Json, load, workplace
from codequarry.cli.leaving import check_files_may_leave
from codequarry.cli.texts import STDIN, Given, Reading, read_text
from codequarry.shared.errors import UsageError

if TYPE_CHECKING:
    from codequarry.cli.invocation import Workplace
    from codequarry.shared.settings.config import SettingsModel

DEFAULT_TOP_K, MAX_TOP_K = 10, 200
# Two texts fill a screen; of ten chunks each has four lines.
PAIRS_OF_TWO_TEXTS, PAIRS_OF_A_CHUNK = 8, 4


def embed_check(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A text, or a file: PATH, @PATH, - for stdin.")],
    document: Annotated[
        str | None, typer.Argument(metavar="DOCUMENT", help="What it is compared with: a text or a file, as above.")
    ] = None,
    nearest: Annotated[
        bool, typer.Option("--nearest", help="Instead of a DOCUMENT: show the nearest chunks of the index.")
    ] = False,
    top_k: Annotated[
        int | None,
        typer.Option("--top-k", "--topk", "-k", min=1, max=MAX_TOP_K, metavar="N", help="How many chunks; 10."),
    ] = None,
    repo: Repos = None,
    language: Languages = None,
    path: Paths = None,
    branch: Branch = None,
    tag: Tag = None,
    commit: Commit = None,
    pull: Pull = None,
    workspace: Workspace = None,
    pairs: Annotated[
        int | None,
        typer.Option(min=0, max=1000, metavar="N", help="Contributions of each kind to show; 8, per chunk 4."),
    ] = None,
    as_text: Annotated[bool, typer.Option("--text", help="Both are texts, even where a file is called so.")] = False,
    as_file: Annotated[bool, typer.Option("--file", help="Both are paths of files.")] = False,
    as_json: Json = False,
) -> None:
    """Show why the embedding model finds two things near.

    Prints the cosine of the two vectors and what each pair of tokens adds to it: tokens that both have,
    different ones that go together, different ones that don't. The first is embedded as a query is, the
    second as the code of an index is, which matters to models that put other words before each.

    What is the name of a file is read. Two texts are compared by the model of the settings; --nearest takes
    the model of the index and looks by vectors alone, without the words and rules of a search.
    """
    version = version_filter(branch, tag, commit, pull, workspace)
    filters: dict[str, Any] = {"repo": repo, "language": language, "path": path, **version}
    filters = {name: value for name, value in filters.items() if value}
    _check_use(document, nearest, bool(filters) or top_k is not None)
    if as_text and as_file:
        raise UsageError("--text and --file exclude each other: @PATH says file for one of the two")
    if query == document == STDIN and not as_text:
        raise UsageError("stdin can be read once: give - for one of the two")
    reading: Reading = "text" if as_text else "file" if as_file else "either"
    settings = load(context).settings
    most_bytes = settings.scan.max_file_bytes
    first = read_text(query, "query", reading, most_bytes)
    if document is None:
        chosen = PAIRS_OF_A_CHUNK if pairs is None else pairs
        with workplace(settings) as place:
            _show_nearest(place, first, filters, top_k or DEFAULT_TOP_K, chosen, as_json)
        return
    second = read_text(document, "document", reading, most_bytes)
    _show_two(settings, first, second, PAIRS_OF_TWO_TEXTS if pairs is None else pairs, as_json)


def _check_use(document: str | None, nearest: bool, narrowed: bool) -> None:
    if document is None and not nearest:
        raise UsageError("give a second text or file, or --nearest for the nearest chunks of the index")
    if document is not None and nearest:
        raise UsageError("--nearest takes one text or file: the others are the chunks of the index")
    if narrowed and not nearest:
        raise UsageError("--top-k, --repo, --language, --path and versions choose among chunks: they need --nearest")


def _show_two(settings: "SettingsModel", query: Given, document: Given, pairs: int, as_json: bool) -> None:
    from codequarry.cli.nearness import comparison_json, show_comparison
    from codequarry.shared.opening import open_settings_model

    with closing(open_settings_model(settings)) as embedder:
        check_files_may_leave(settings, embedder, [one.path for one in (query, document) if one.path])
        body = comparison_json(embedder, query, document, pairs)
    _show(body, show_comparison, as_json)


def _show_nearest(
    place: "Workplace", query: Given, filters: dict[str, Any], top_k: int, pairs: int, as_json: bool
) -> None:
    from codequarry.cli.nearness import neighbours_json, show_neighbours
    from codequarry.search_api.catalog import Catalog
    from codequarry.search_api.nearest import nearest_chunks

    check_files_may_leave(place.settings, place.embedder, [query.path] if query.path else [])
    vector = place.embedder.embed_query(query.text)
    if not vector.any():
        raise UsageError("the query has no token that the model knows: nothing is near to it")
    catalog = Catalog(place.store)
    found = nearest_chunks(catalog, vector, filters, top_k)
    _show(neighbours_json(catalog, found, place.embedder, query, pairs), show_neighbours, as_json)


def _show(body: dict[str, Any], show: Callable[[dict[str, Any]], None], as_json: bool) -> None:
    from codequarry.cli.nearness import remarks

    if as_json:
        write_json(body)
        return
    show(body)
    for remark in remarks(body):
        note(remark)
