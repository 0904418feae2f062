"""Opens the embedder that the settings name: built in, a folder, or a server. Weights load at first use."""

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
    """Return the configured embedder; ``interactive`` limits the wait for its dimension because a client is waiting.

    Raise UnknownName if the model is neither known nor a folder, EmbeddingError if the files of a known model are
    missing, and UsageError if the settings contradict each other or the model no longer exists.
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
        return TableEmbedder(folder, folder.resolve().name, settings, f"restore its files in {folder}")
    from codequarry.shared.embedding.folder import read_folder
    from codequarry.shared.embedding.onnx import OnnxEmbedder

    return OnnxEmbedder(read_folder(folder, known), settings)


def _server(settings: EmbeddingSettings, known: KnownModel | None, interactive: bool) -> Embedder:
    if known and known.name == DEFAULT:
        raise UsageError(
            f"[embedding] base_url is set, but model = '{DEFAULT}' runs on this machine; "
            "set model to a model of the server, or unset base_url"
        )
    if not settings.base_url and not settings.api_key:
        raise UsageError(
            f"model '{settings.model}' needs a key: set CODEQUARRY_EMBEDDING__API_KEY, "
            "or set [embedding] base_url to a compatible server that needs no key"
        )
    from codequarry.shared.embedding.openai_compatible import OpenAICompatibleEmbedder

    return OpenAICompatibleEmbedder(settings, known, interactive=interactive)


def _folder(model: str, known: KnownModel | None, models_folder: Path) -> Path:
    candidates = [models_folder / known.name] if known else [Path(model).expanduser(), models_folder / model]
    for folder in candidates:
        if is_model_folder(folder) or (known is None and is_table_folder(folder)):
            return folder
    if known is None:
        present = next((folder for folder in candidates if folder.is_dir()), None)
        raise _incomplete(present) if present else unknown_model(model)
    if known.source == "install":
        raise EmbeddingError(f"model '{known.name}' is not installed; run `codequarry models install {known.name}`")
    raise EmbeddingError(f"model '{known.name}' is not on this machine; {how_to_place(known, models_folder)}")


def is_model_folder(folder: Path) -> bool:
    """Return whether a folder has the files of an ONNX model."""
    return all((folder / name).is_file() for name in ONNX_FILES)


def how_to_place(known: KnownModel, models_folder: Path) -> str:
    """Return instructions for placing the files of a model that cannot be installed."""
    return f"put {MODEL_FILE} and {TOKENIZER_FILE} of {known.repository} into {models_folder / known.name}"


def _incomplete(folder: Path) -> EmbeddingError:
    is_table = any((folder / name).is_file() for name in TABLE_FILES)
    needed = TABLE_FILES if is_table else ONNX_FILES
    missing = [name for name in needed if not (folder / name).is_file()]
    return EmbeddingError(f"{folder} is not an embedding model: it has no {' and no '.join(missing)}")


# Beside this file, because rows can only be mapped from real files.
FOLDER = Path(__file__).with_name(DEFAULT)
_MEND = "reinstall codequarry (in a clone: `pip install --force-reinstall --no-deps .`)"


def open_built_in(settings: EmbeddingSettings) -> TableEmbedder:
    """Return the built-in model; its files are read at first use."""
    return TableEmbedder(FOLDER, DEFAULT, settings, _MEND)
