"""Start of the processes that list and read files, which takes most of the time for a small commit."""

import pickle
import subprocess
import sys

import pytest

from codequarry.ingest.files.lister import ListingOrder
from codequarry.ingest.files.read_file import ReadingRules
from codequarry.ingest.files.reading_order import ReadingOrder
from codequarry.ingest.files.scan import PathRules
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.secrets.policy import SecretRules
from codequarry.shared.settings.config import SettingsModel

# Modules that take a tenth of a second or more to load.
SLOW = ("pydantic", "codequarry.shared.settings.config", "numpy", "opensearchpy", "charset_normalizer")
# The process of a run has files read by others.
SLOW_FOR_RUN = ("git", "tree_sitter", "codequarry.ingest.chunking.chunker", "codequarry.ingest.symbols.naming_rules")
SLOW_FOR_LISTER = (*SLOW, "git", "tree_sitter", "codequarry.ingest.git.process")

SETTINGS = SettingsModel(languages={"map": {".x": "python"}, "only": ("python",)}, path_rules=({"glob": "*.py"},))
RULES = ReadingRules.of("r", SETTINGS, SecretRules.of(SETTINGS.secrets))


@pytest.mark.parametrize(
    ("module", "received", "slow"),
    [
        ("lister", lambda folder: ListingOrder(folder, {}, "c", PathRules(SETTINGS, ("*.log",)), 1), SLOW_FOR_LISTER),
        (
            "reading_process",
            lambda folder: ReadingOrder(Mirror(folder, {}), RULES),
            SLOW,
        ),
    ],
)
def test_child_processes_load_no_slow_modules(module, received, slow, tmp_path):
    look = f"import pickle, sys; import codequarry.ingest.files.{module}; pickle.load(sys.stdin.buffer); "
    look += f"print(*(name for name in {slow!r} if name in sys.modules))"
    work = pickle.dumps(received(tmp_path))
    loaded = subprocess.run([sys.executable, "-c", look], input=work, capture_output=True, check=True)
    assert loaded.stdout.split() == []


def test_the_process_of_a_run_loads_no_chunkers():
    look = "import sys; import codequarry.ingest.run.pipeline; "
    look += f"print(*(name for name in {SLOW_FOR_RUN!r} if name in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", look], capture_output=True, check=True)
    assert loaded.stdout.split() == []
