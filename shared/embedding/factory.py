"""From the settings to an embedder: built in, a folder, or a server. Opening is cheap; weights load at first use."""

from pathlib import Path

from codequarry.shared.embedding.port import Embedder
from codequarry.shared.embedding.table_embedder import TableEmbedder, is_table_folder
from codequarry.shared.errors import EmbeddingError, UsageError
from codequarry.shared.known_models import (
    DEFAULT,
    MODEL_FILE,
    ONNX_FILES,
    TABLE_FILES,
    TOKENIZER_FILE,
    KnownModel,
    find_model,
    is_removed_model,
    unknown_model,
)
from codequarry.shared.settings.config import EmbeddingSettings


def open_embedder(settings: EmbeddingSettings, models_folder: Path, *, interactive: bool = False) -> Embedder:
    """Return the embedder that the settings name; ``prompt`` if a client waits until it is known.

    Raise UnknownName for a model that is neither known nor a folder, EmbeddingError for a known one whose files are
    not there, UsageError for settings that do not go together and for a model that is gone.
    """
    if is_removed_model(settings.model):
        raise unknown_model(settings.model)
    known = find_model(settings.model)
    if settings.base_url or (known and known.api):
        return _server(settings, known, interactive)
    if known and known.name == DEFAULT:
        return open_built_in(settings)
    folder = _folder(settings.model, known, models_folder)
    if not is_model_folder(folder):
        return TableEmbedder(folder, folder.resolve().name, settings, f"put its files into {folder} again")
    from codequarry.shared.embedding.folder import read_folder
    from codequarry.shared.embedding.onnx import OnnxEmbedder

    return OnnxEmbedder(read_folder(folder, known), settings)


def _server(settings: EmbeddingSettings, known: KnownModel | None, interactive: bool) -> Embedder:
    if known and known.name == DEFAULT:
        raise UsageError(
            f"[embedding] base_url is set, but model = '{DEFAULT}' runs on this machine; "
            "set model to one that the server has, or unset base_url"
        )
    if not settings.base_url and not settings.api_key:
        raise UsageError(
            f"model '{settings.model}' needs a key: set CODEQUARRY_EMBEDDING__API_KEY, "
            "or [embedding] base_url to a compatible server that needs none"
        )
    from codequarry.shared.embedding.openai_compatible import OpenAICompatibleEmbedder

    return OpenAICompatibleEmbedder(settings, known, interactive=interactive)


def _folder(model: str, known: KnownModel | None, models_folder: Path) -> Path:
    """Return the folder of a model on this machine: a path, or a name in the models folder."""
    candidates = [models_folder / known.name] if known else [Path(model).expanduser(), models_folder / model]
    for folder in candidates:
        if is_model_folder(folder) or (known is None and is_table_folder(folder)):
            return folder
    if known is None:
        present = next((folder for folder in candidates if folder.is_dir()), None)
        raise _incomplete(present) if present else unknown_model(model)
    if known.source == "install":
        raise EmbeddingError(f"model '{known.name}' is not installed; run `codequarry models install {known.name}`")
    raise EmbeddingError(f"model '{known.name}' is not here; {how_to_place(known, models_folder)}")


def is_model_folder(folder: Path) -> bool:
    """Tell whether a folder has the files of a model."""
    return all((folder / name).is_file() for name in ONNX_FILES)


def how_to_place(known: KnownModel, models_folder: Path) -> str:
    """Say which files of a model that cannot be installed go where."""
    return f"put {MODEL_FILE} and {TOKENIZER_FILE} of {known.repository} into {models_folder / known.name}"


def _incomplete(folder: Path) -> EmbeddingError:
    is_table = any((folder / name).is_file() for name in TABLE_FILES)
    needed = TABLE_FILES if is_table else ONNX_FILES
    missing = [name for name in needed if not (folder / name).is_file()]
    return EmbeddingError(f"{folder} is no embedding model: it has no {' and no '.join(missing)}")


# Beside this file: rows can only be mapped from real files.
FOLDER = Path(__file__).with_name(DEFAULT)
_MEND = "install codequarry again (in a clone: `pip install --force-reinstall --no-deps .`)"


def open_built_in(settings: EmbeddingSettings) -> TableEmbedder:
    """Return the built-in model; its files are read at the first use."""
    return TableEmbedder(FOLDER, DEFAULT, settings, _MEND)
