"""`codequarry embed-check`: how near two texts are in the model's view, or what is nearest to a text, and why."""

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codequarry.cli.options.search_options import (
    Branch,
    Commit,
    Languages,
    Paths,
    Pull,
    Repos,
    Tag,
    Workspace,
    version_filter,
)
from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal.console import note, write_json
from codequarry.cli.terminal.text_arguments import STDIN, ArgumentReading, TextArgument, read_text
from codequarry.shared.errors import CodequarryError, GitError, UsageError

if TYPE_CHECKING:
    from codequarry.cli.session.session import Workplace
    from codequarry.shared.embedding.port import Embedder
    from codequarry.shared.settings.config import SettingsModel

DEFAULT_TOP_K, MAX_TOP_K = 10, 200
# Two texts may fill a screen; ten chunks get four lines each.
PAIRS_OF_TWO_TEXTS, PAIRS_OF_A_CHUNK = 8, 4


def embed_check(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A text, or a file: PATH, @PATH, or - for stdin.")],
    document: Annotated[str | None, typer.Argument(metavar="DOCUMENT", help="Text or file to compare with.")] = None,
    nearest: Annotated[bool, typer.Option("--nearest", help="Show the nearest chunks of the index instead.")] = False,
    top_k: Annotated[
        int | None,
        typer.Option("--top-k", "--topk", "-k", min=1, max=MAX_TOP_K, metavar="N", help="Number of chunks; 10."),
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
        typer.Option(
            min=0, max=1000, metavar="N", help="Contributions to show of each kind (default 8, or 4 per chunk)."
        ),
    ] = None,
    as_text: Annotated[bool, typer.Option("--text", help="Both are text, even if a file has that name.")] = False,
    as_file: Annotated[bool, typer.Option("--file", help="Both are file paths.")] = False,
    as_json: Json = False,
) -> None:
    """Show why the embedding model finds two texts similar.

    Prints the cosine of the two vectors and what each pair of tokens adds to it: tokens of both texts, different
    tokens that are related, and different tokens that are opposed. The first text is embedded as a query, the second
    as indexed code, which matters to models that prefix the two differently.

    An argument that names a file stands for its text. Two texts are compared by the configured model. --nearest uses
    the index's model and ranks by vectors only, without the words and rules that a search uses.
    """
    version = version_filter(branch, tag, commit, pull, workspace)
    filters: dict[str, Any] = {"repo": repo, "language": language, "path": path, **version}
    filters = {name: value for name, value in filters.items() if value}
    _check_use(document, nearest, bool(filters) or top_k is not None)
    if as_text and as_file:
        raise UsageError("--text and --file are mutually exclusive; use @PATH if only one argument is a file")
    if query == document == STDIN and not as_text:
        raise UsageError("stdin can be read only once; use - for only one argument")
    reading: ArgumentReading = "text" if as_text else "file" if as_file else "either"
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
        raise UsageError("--nearest takes only one text or file and compares it with the chunks of the index")
    if narrowed and not nearest:
        raise UsageError("--top-k, --repo, --language, --path and versions select chunks; they need --nearest")


def _show_two(
    settings: "SettingsModel", query: TextArgument, document: TextArgument, pairs: int, as_json: bool
) -> None:
    from codequarry.cli.terminal.nearness import comparison_json, remarks, show_comparison
    from codequarry.shared.index.opened_index import open_settings_model

    with closing(open_settings_model(settings)) as embedder:
        check_external_models(settings, embedder, [text.path for text in (query, document) if text.path])
        body = comparison_json(embedder, query, document, pairs)
    if as_json:
        write_json(body)
        return
    show_comparison(body)
    for remark in remarks(body):
        note(remark)


def _show_nearest(
    place: "Workplace", query: TextArgument, filters: dict[str, Any], top_k: int, pairs: int, as_json: bool
) -> None:
    from codequarry.cli.terminal.nearness import nearest, nearest_json, nearest_remarks, show_nearest
    from codequarry.search_api.search.neighbours import nearest_chunks
    from codequarry.search_api.versions.catalog import Catalog
    from codequarry.search_api.versions.local_heads import LocalHeads

    check_external_models(place.settings, place.embedder, [query.path] if query.path else [])
    vector = place.embedder.embed_query(query.text)
    if not vector.any():
        raise UsageError("the model knows none of the query's tokens, so nothing is near it")
    catalog = Catalog(place.store, local_heads=LocalHeads(place.settings))
    shown = nearest(catalog, nearest_chunks(catalog, vector, filters, top_k), place.embedder, query, pairs)
    body = nearest_json(shown, place.embedder, query)
    if as_json:
        write_json(body)
        return
    show_nearest(shown)
    for remark in nearest_remarks(shown, body):
        note(remark)


def check_external_models(settings: "SettingsModel", embedder: "Embedder", paths: Iterable[str]) -> None:
    """Raise UsageError if a file's repository must not leave this machine and the model is on another machine."""
    rules = (*settings.repositories, *settings.repository_groups)
    if not embedder.leaves_machine or all(rule.external_models for rule in rules):
        return
    from codequarry.ingest.git.mirrors import open_environment
    from codequarry.shared.repositories.model_permission import check_model_allowed

    environment = open_environment(settings.git, settings.home)
    for path in paths:
        for origin in _origins_of(path, environment):
            check_model_allowed(settings, path, origin, embedder)


def _origins_of(path: str, environment: dict[str, str]) -> Iterator[str]:
    """Yield the possible origins of the repository that a file is in; raise UsageError if git can't read it."""
    from codequarry.ingest.git.checkout import open_checkout
    from codequarry.ingest.git.origins import parse_origin

    folder = Path(path).resolve().parent
    try:
        places = open_checkout(folder, environment).places()
    except GitError:
        # The file is in git's own folder or in a damaged repository.
        if any((place / ".git").exists() for place in (folder, *folder.parents)):
            raise UsageError(
                f"'{path}' is in a repository that git cannot read and that may have external_models = false, so "
                "nothing was sent; choose a model on this machine ([embedding] model)"
            ) from None
        return
    yield from places
    for place in places:
        with suppress(CodequarryError):
            yield parse_origin(place).url  # a clone of a folder may name that folder by a link
