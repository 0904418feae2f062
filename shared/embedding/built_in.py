"""The default model: a token table for code that comes with this package, without network or key (training/)."""

from pathlib import Path

from codequarry.shared.embedding.known import DEFAULT
from codequarry.shared.embedding.table_embedder import TableEmbedder
from codequarry.shared.settings.config import EmbeddingSettings

# Beside this file: rows can only be mapped from real files.
FOLDER = Path(__file__).with_name(DEFAULT)
_MEND = "install codequarry again (in a clone: `pip install --force-reinstall --no-deps .`)"


def open_built_in(settings: EmbeddingSettings) -> TableEmbedder:
    """Return the built-in model; its files are read at the first use."""
    return TableEmbedder(FOLDER, DEFAULT, settings, _MEND)
