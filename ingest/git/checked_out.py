"""What is checked out in a repository on this machine, if it is not the default branch."""

from codequarry.ingest.git.mirrors import RemoteAccess
from codequarry.ingest.git.remote import CHECKOUT_PATTERNS, HEAD, list_refs, raise_not_found, with_default
from codequarry.shared.versions.refs import Ref


def checked_out(access: RemoteAccess, kept: str) -> Ref | None:
    """Return the branch that is checked out, or the commit if HEAD is detached; ``kept`` is as in ``remote.ask``.

    Return None if that is the default branch, or if the origin has no working tree. Raise NotAtOrigin if the branch has
    no commits yet.
    """
    if access.checkout() is None:
        return None
    found = list_refs(access, CHECKOUT_PATTERNS)
    if HEAD not in found.tips:
        raise_not_found(access, None)
    default = with_default(found, kept, access.mirror.environment)
    if found.head_branch:
        return None if found.head_branch == default.head_branch else Ref("branch", found.head_branch)
    return None if found.tips[HEAD] == default.tips[HEAD] else Ref("commit", found.tips[HEAD])
