"""`codequarry models`: the known embedding models and re-rankers, and installation of a model."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.session.session import Json, load
from codequarry.cli.terminal.console import note, write, write_json, write_table

if TYPE_CHECKING:
    from codequarry.shared.known_models import KnownModel
    from codequarry.shared.settings.config import EmbeddingSettings

app = typer.Typer(help="List and install embedding models.", rich_markup_mode=None)
_NOT_SERVED = "known, not yet served"


@app.callback(invoke_without_command=True)
def list_models(context: typer.Context, as_json: Json = False) -> None:
    """List the known models: dimension, window in tokens, prefixes or input types, and how to get each."""
    if context.invoked_subcommand:
        return
    from codequarry.shared.known_models import EMBEDDERS, RERANKERS

    settings = load(context).settings
    folder = settings.home / "models"
    models = [_model(known, settings.embedding, folder) for known in EMBEDDERS]
    models += [_placed(path, settings.embedding) for path in _other_folders(folder)]
    rerankers = [
        {"name": known.name, "window": known.window, "repository": known.repository, "state": _NOT_SERVED}
        for known in RERANKERS
    ]
    if as_json:
        write_json({"models_folder": str(folder), "models": models, "rerankers": rerankers})
        return
    write_table(
        [("MODEL", "DIM", "WINDOW", "BEFORE QUERIES / DOCUMENTS", "STATE"), *(_row(model) for model in models)],
        right=(1, 2),
    )
    write()
    write_table([("RE-RANKER", "WINDOW", "STATE"), *((known.name, known.window, _NOT_SERVED) for known in RERANKERS)])
    hints = [f"{model['name']}: {model['how']}" for model in models if model["state"] != "ready"]
    note("\n" + "\n".join(hints) if hints else "")


@app.command("install", epilog="\b\nExample:\n  codequarry models install minilm")
def install(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a model that `codequarry models` can install.")],
    as_json: Json = False,
) -> None:
    """Install a model into the data folder, after checking its pinned hash."""
    from codequarry.shared.embedding.install import install_model

    settings = load(context).settings
    folder = install_model(name, settings.home / "models", note)
    if as_json:
        write_json({"installed": folder.name, "folder": str(folder)})
    elif settings.embedding.model.casefold() != folder.name:
        note(f'to use it, set [embedding] model = "{folder.name}" and index again')


def _model(known: "KnownModel", settings: "EmbeddingSettings", models_folder: Path) -> dict[str, object]:
    from codequarry.shared.known_models import find_model

    used = find_model(settings.model) is known
    ready, how = _availability(known, settings, models_folder, used)
    return {
        "name": known.name,
        "dimension": known.dimension,
        "window": known.window,
        "query_prefix": known.query_prefix,
        "document_prefix": known.document_prefix,
        "query_input_type": known.query_input_type,
        "document_input_type": known.document_input_type,
        "source": known.source,
        "repository": known.repository,
        "state": "ready" if ready else "missing",
        "in_use": used,
        "how": how,
    }


def _availability(
    known: "KnownModel", settings: "EmbeddingSettings", models_folder: Path, used: bool
) -> tuple[bool, str]:
    """Return whether a model is ready to use, and where it comes from or how to get it."""
    from codequarry.shared.embedding.factory import how_to_place, is_model_folder

    if known.source == "built in":
        return True, "comes with codequarry"
    if used and settings.base_url:
        return True, "from the server of embedding.base_url"
    if known.source == "api":
        ready = used and settings.api_key is not None
        return ready, "through its API" if ready else "set embedding.model and CODEQUARRY_EMBEDDING__API_KEY"
    if is_model_folder(models_folder / known.name):
        return True, f"in {models_folder / known.name}"
    if known.source == "install":
        return False, f"codequarry models install {known.name}"
    return False, how_to_place(known, models_folder)


def _other_folders(models_folder: Path) -> Iterator[Path]:
    from codequarry.shared.embedding.factory import is_model_folder
    from codequarry.shared.embedding.table_embedder import is_table_folder
    from codequarry.shared.known_models import find_model

    if models_folder.is_dir():
        for path in sorted(models_folder.iterdir()):
            if (is_model_folder(path) or is_table_folder(path)) and find_model(path.name) is None:
                yield path


# A model about which nothing is known: any window, and no prefixes.
_PLAIN: dict[str, object] = {"dimension": None, "window": None, "query_prefix": "", "document_prefix": ""}


def _placed(path: Path, settings: "EmbeddingSettings") -> dict[str, object]:
    """Describe a model that the user put into the models folder."""
    from codequarry.shared.errors import EmbeddingError

    shape = _PLAIN
    state, how = "ready", f"in {path}"
    try:
        shape = _shape(path)
    except EmbeddingError as error:
        state, how = "damaged", str(error)
    return {
        "name": path.name,
        **shape,
        "query_input_type": "",
        "document_input_type": "",
        "source": "folder",
        "repository": "",
        "state": state,
        "in_use": settings.model in (path.name, str(path)),
        "how": how,
    }


def _shape(path: Path) -> dict[str, object]:
    from codequarry.shared.embedding.factory import is_model_folder
    from codequarry.shared.embedding.folder import read_folder
    from codequarry.shared.embedding.token_table import TokenTable

    if not is_model_folder(path):
        return {**_PLAIN, "dimension": TokenTable.read(path).dimension}
    folder = read_folder(path)
    return {
        "dimension": folder.dimension,
        "window": folder.max_tokens,
        "query_prefix": folder.query_prefix,
        "document_prefix": folder.document_prefix,
    }


def _row(model: dict[str, object]) -> tuple[object, ...]:
    before = [_before(model, side) for side in ("query", "document")]
    state = "built in" if model["source"] == "built in" else f"{model['source']}, {model['state']}"
    return (
        model["name"],
        model["dimension"] or "",
        model["window"] or "any",
        " / ".join(part or "-" for part in before) if any(before) else "",
        f"{state}, in use" if model["in_use"] else state,
    )


def _before(model: dict[str, object], side: str) -> str:
    if prefix := model[f"{side}_prefix"]:
        return f"'{prefix}'"
    input_type = model[f"{side}_input_type"]
    return f"input_type {input_type}" if input_type else ""
