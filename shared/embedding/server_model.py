"""What is known of a model behind a server before it is asked: name, dimension and window."""

from codequarry.shared.embedding.strides import StrideShape, context_window, document_suffix, stride_shape
from codequarry.shared.errors import UsageError
from codequarry.shared.known_models import KnownModel
from codequarry.shared.settings.config import EmbeddingSettings

# The window of most models that servers offer; texts that a server refuses for being too long are cut further.
USUAL_WINDOW = 8192


def dimension_of(settings: EmbeddingSettings, known: KnownModel | None) -> int | None:
    """Return the length of the model's vectors, or None if only the server knows it; raise UsageError if impossible."""
    if known is None or settings.dimensions is None:
        return settings.dimensions or (known.dimension if known else None)
    longest = max(known.dimension, *(known.api.dimensions if known.api else ()), 0)
    if settings.dimensions > longest:
        raise UsageError(f"[embedding] dimensions = {settings.dimensions}: '{known.name}' has at most {longest}")
    return settings.dimensions


def name_of(settings: EmbeddingSettings, known: KnownModel | None, dimension: int | None) -> str:
    """Return the name of the model, with everything that changes its vectors."""
    name = known.name if known else settings.model
    prefix = given(settings.document_prefix, known.document_prefix if known else "")
    input_type = given(settings.document_input_type, known.document_input_type if known else "")
    return (f"{name}-{dimension}" if dimension else name) + document_suffix(prefix, input_type)


def strides_of(settings: EmbeddingSettings, known: KnownModel | None) -> StrideShape:
    """Return the shape of strides; raise UsageError for settings that cannot work."""
    window = context_window(settings, known.window if known else None, settings.model)
    return stride_shape(window or USUAL_WINDOW, settings)


def given(setting: str | None, otherwise: str) -> str:
    """Return a setting, or what holds if it is unset."""
    return otherwise if setting is None else setting
