"""The checks of `codequarry doctor`: each returns a state, a message and, if something is wrong, a remedy."""

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from codequarry.cli.terminal.console import count, size
from codequarry.shared.data_folder import check_private, private_folder
from codequarry.shared.errors import CodequarryError, FolderNotPrivate, StoreDamaged, StoreError

if TYPE_CHECKING:
    from codequarry.cli.session.session import Workplace
    from codequarry.shared.settings.config import LoadedSettings, SettingsModel

CheckState = Literal["ok", "warn", "fail"]

# The first git version that reads configuration from the environment and from a named file (GIT_CONFIG_GLOBAL).
OLDEST_GIT = (2, 32)
# A rough estimate: 10,000 chunks take up to 100 MB, and a mirror as much as the repository.
COMFORTABLE_BYTES = 2_000_000_000
LEAST_BYTES = 100_000_000
# At most this many dangling grants are listed.
MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Check:
    """One finding; ``remedy`` says what to do if ``state`` is not ok."""

    name: str
    state: CheckState
    message: str
    remedy: str = ""


def run_checks(loaded: "LoadedSettings") -> Iterator[Check]:
    """Run the checks and yield each finding as soon as it is known."""
    settings = loaded.settings
    yield Check("settings", "ok", f"from {loaded.file}" if loaded.file else "no settings file")
    yield check_home(settings.home)
    yield check_disk(settings.home)
    yield check_git()
    yield from _check_index(settings)
    if settings.reranking.enabled:
        yield _guarded("reranking", lambda: _check_reranking(settings), "see codequarry models, or set reranking.model")


def check_home(home: Path) -> Check:
    """Check that the data folder is writable, and that other users can't read it."""
    try:
        private_folder(home)
        check_private(home)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        return Check("home", "fail", f"{home}: {error.strerror}", "set CODEQUARRY_HOME to a folder you can write to")
    except FolderNotPrivate as error:
        message, _, remedy = str(error).rpartition(": ")
        return Check("home", "fail", message, remedy)
    return Check("home", "ok", str(home))


def check_disk(home: Path) -> Check:
    """Check the free space on the disk of the data folder."""
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    message = f"{size(free)} free"
    if free >= COMFORTABLE_BYTES:
        return Check("disk", "ok", message)
    return Check("disk", "fail" if free < LEAST_BYTES else "warn", message, "free some space, or move CODEQUARRY_HOME")


def check_git(command: str = "git") -> Check:
    """Check that git is installed and new enough."""
    wanted = ".".join(map(str, OLDEST_GIT))
    try:
        output = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        return Check("git", "fail", f"git does not run: {error}", f"install git {wanted} or newer")
    numbers = re.search(r"(\d+)\.(\d+)", output)
    if numbers and (int(numbers[1]), int(numbers[2])) >= OLDEST_GIT:
        return Check("git", "ok", output)
    return Check("git", "fail", output, f"install git {wanted} or newer")


def _check_index(settings: "SettingsModel") -> Iterator[Check]:
    """Check the model, then the store, which is opened for vectors of that model."""
    from codequarry.cli.session.session import workplace

    try:
        with workplace(settings) as place:
            yield _guarded("model", lambda: _check_model(place), _MODEL_REMEDY)
            yield from _check_store(place)
        yield _guarded("migration", lambda: _check_migration(settings), _STORE_REMEDY)
    except StoreDamaged as error:
        yield Check("store", "fail", str(error), "stop services and imports, and run codequarry fsck --repair")
    except StoreError as error:
        yield Check("store", "fail", str(error), _STORE_REMEDY)
    except CodequarryError as error:
        yield Check("index", "fail", str(error), "fix what the message names, then run codequarry doctor again")


_MODEL_REMEDY = "see codequarry models, or set embedding.model"
_STORE_REMEDY = "check that the store is running and that the settings under [opensearch] are right"


def _guarded(name: str, check: Callable[[], Check], remedy: str) -> Check:
    try:
        return check()
    except CodequarryError as error:
        return Check(name, "fail", str(error), remedy)


def _check_model(place: "Workplace") -> Check:
    if place.degraded:
        return Check("model", "fail", place.degraded[0], "do what the message says; until then searches use only words")
    started = time.monotonic()
    vector = place.embedder.embed_query("codequarry doctor")
    took = time.monotonic() - started
    return Check("model", "ok", f"{place.embedder.name}, {len(vector)} dimensions, first query {took:.2f} s")


def _check_reranking(settings: "SettingsModel") -> Check:
    from contextlib import closing

    from codequarry.shared.index.opened_index import models_folder
    from codequarry.shared.reranking.factory import open_reranker

    said, seconds, started = "codequarry doctor", settings.reranking.timeout_seconds, time.monotonic()
    with closing(open_reranker(settings.reranking, models_folder(settings))) as model:
        scored = next(model.score(said, [said], seconds), None)
        took = time.monotonic() - started
        if scored is None:
            message = f"{model.name}: no score within {seconds:g} s; loading took {took:.2f} s"
            return Check("reranking", "warn", message, "raise reranking.timeout_seconds if later searches time out too")
        return Check("reranking", "ok", f"{model.name}, first score {took:.2f} s")


def _check_store(place: "Workplace") -> Iterator[Check]:
    reached = _guarded("store", lambda: _check_reachable(place), _STORE_REMEDY)
    yield reached
    if reached.state == "fail":
        return  # later checks would report the same
    yield _guarded("identity", lambda: _check_identity(place), "do what the message says")
    yield _guarded("storage", lambda: _check_storage(place), "codequarry fsck --repair")
    yield _guarded("imports", lambda: _check_imports(place), _STORE_REMEDY)
    yield _guarded("secrets", lambda: _check_secrets(place), _STORE_REMEDY)
    yield _guarded("grants", lambda: _check_grants(place), _STORE_REMEDY)
    if place.settings.store == "opensearch":
        yield from _check_cluster(place)


def _check_reachable(place: "Workplace") -> Check:
    from codequarry.shared.catalog.repositories import list_repositories

    known = list_repositories(place.store)
    return Check("store", "ok", f"{place.store.name}, {count(len(known), 'repository', 'repositories')}")


def _check_identity(place: "Workplace") -> Check:
    """Compare the index's model with the configured model; imports are refused if they differ."""
    from contextlib import closing

    from codequarry.shared.index.identity import check_identity, read_identity
    from codequarry.shared.index.opened_index import open_settings_model

    known = read_identity(place.store)
    if known is None:
        return Check("identity", "ok", "the index is empty and accepts any model")
    try:
        with closing(open_settings_model(place.settings)) as embedder:
            check_identity(place.store, embedder, place.settings.embedding.model)
    except CodequarryError as error:
        return Check("identity", "warn", str(error), "searches work; imports need the index's model in the settings")
    return Check("identity", "ok", f"made with {known.model}")


def _check_migration(settings: "SettingsModel") -> Check:
    from contextlib import closing

    from codequarry.ingest.migration.note import unfinished_migrations
    from codequarry.shared.store.factory import editions_of

    with closing(editions_of(settings)) as editions:
        found = unfinished_migrations(editions)
    if not found:
        return Check("migration", "ok", "none running")
    note = found[-1].note
    if found[-1].is_running:
        return Check("migration", "ok", f"to {note.setting}: {note.phase}, {note.percent} %, as of {note.updated_at}")
    remedy = f"codequarry migrate --model {note.setting} resumes it"
    return Check("migration", "warn", f"to {note.setting}: stopped at {note.percent} %", remedy)


def _check_storage(place: "Workplace") -> Check:
    """Check a sample for damage; codequarry fsck reads everything."""
    found = place.store.inspect(thoroughly=False)
    if not found:
        return Check("storage", "ok", "samples match their checksums")
    lost = "vectors" if all(damage.kind == "vectors" for damage in found) else "what is lost"
    remedy = f"stop services and imports; codequarry fsck --repair rebuilds {lost}"
    return Check("storage", "fail", "; ".join(damage.detail for damage in found[:3]), remedy)


def _check_imports(place: "Workplace") -> Check:
    from codequarry.shared.catalog.ledger import read_head
    from codequarry.shared.catalog.repositories import list_progress

    left = list(dict.fromkeys(progress.repo for progress in list_progress(place.store)))
    open_now = len(read_head(place.store).open)
    if not left and not open_now:
        return Check("imports", "ok", "none running")
    message = f"running or interrupted: {', '.join(left) or count(open_now, 'transaction')}"
    return Check("imports", "warn", message, "if no import is running, codequarry index resumes it")


def _check_secrets(place: "Workplace") -> Check:
    from codequarry.ingest.garbage_collection.unmasked_rows import repositories_with_unmasked

    if place.settings.secrets.action == "off":
        return Check("secrets", "warn", "not masked", 'set [secrets] action = "mask" and index the repositories')
    left = repositories_with_unmasked(place.store)
    if not left:
        return Check("secrets", "ok", "masked in every repository")
    message = f"not masked everywhere in {', '.join(left)}"
    return Check("secrets", "warn", message, "run codequarry index to mask them, then codequarry repos collect")


def _check_grants(place: "Workplace") -> Check:
    from codequarry.shared.access.key_list import dangling_grants

    found = dangling_grants(place.store)
    if not found:
        return Check("grants", "ok", "each names a repository that exists or may be added")
    named = ", ".join(dict.fromkeys(f"{grant.repos} of key {key.name}" for key, grant in found[:MOST_NAMED]))
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    message = f"{count(len(found), 'grant')} for repositories that no longer exist: {named}{more}"
    return Check("grants", "warn", message, "codequarry keys grant KEY --remove --repo NAME removes a grant")


def _check_cluster(place: "Workplace") -> Iterator[Check]:
    from codequarry.shared.store.opensearch.checks import check_cluster
    from codequarry.shared.store.opensearch.store import OpenSearchStore

    assert isinstance(place.store, OpenSearchStore)
    for finding in check_cluster(place.store):
        yield Check(f"opensearch {finding.name}", finding.state, finding.message, finding.remedy)


def worst(checks: list[Check]) -> CheckState:
    """Return the worst state of several checks."""
    states = {check.state for check in checks}
    return "fail" if "fail" in states else "warn" if "warn" in states else "ok"
