"""Which origins a request may name: the one place that decides what the service is made to fetch from."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from codequarry.shared.errors import UsageError
from codequarry.shared.origins import SCP_LIKE, Origin, origin_of_scp, origin_of_url, path_words

MAX_CHARACTERS = 1_000
FILE_SCHEME = "file://"


def accept_origin(text: str, roots: Sequence[Path]) -> Origin:
    """Read the origin that a request names; UsageError where the service is not to fetch from there.

    Folders of this machine only below ``roots``, links resolved, and never told whether they exist elsewhere.
    """
    text = text.strip()
    if not text or len(text) > MAX_CHARACTERS or "\0" in text:
        raise UsageError(f"'origin' must be the URL of a git repository, {MAX_CHARACTERS:,} characters at most")
    if text.startswith("-"):
        raise UsageError("the URL of a repository does not begin with '-'")
    scp_like = None if text.startswith(("/", ".", "~")) or "://" in text else SCP_LIKE.match(text)
    if scp_like:
        return origin_of_scp(scp_like)
    if "://" in text and not text.lower().startswith(FILE_SCHEME):
        return _without_account(origin_of_url(text))
    return _folder(text, roots)


def _without_account(origin: Origin) -> Origin:
    if origin.credentials:
        raise UsageError("leave the account out of the URL: the service has its own tokens ([git] tokens)")
    return origin


def _folder(text: str, roots: Sequence[Path]) -> Origin:
    if not roots:
        raise UsageError("local paths are off here: give the URL of the repository, or set api.local_roots")
    named = unquote(urlsplit(text).path) if text.lower().startswith(FILE_SCHEME) else text
    try:
        folder = Path(named).resolve()
        permitted = any(folder.is_relative_to(root.expanduser().resolve()) for root in roots)
    except (OSError, ValueError, RuntimeError):
        permitted = False
    if not permitted:
        raise UsageError("the path is below none of the folders of api.local_roots")
    top = folder.parent if folder.name == ".git" else folder
    return Origin(url=str(top), parts=path_words(str(top)) or ("repository",))
