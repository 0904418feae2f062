"""The default branch of a repository that has a working tree.

Its HEAD only says what its user is working on at the moment. Therefore the default branch is chosen once and kept as
long as it exists. The HEAD of every other origin is its owner's choice of a default branch, and is followed.
"""

from collections.abc import Collection, Mapping

from codequarry.ingest.git.own_configuration import own_values

# Most usual name first.
USUAL_NAMES = ("main", "master", "trunk", "develop")


def choose_default(
    branches: Collection[str], kept: str, upstream: str | None, environment: Mapping[str, str]
) -> str | None:
    """Return the default branch, or None if no branch stands out: then it is the one that is checked out.

    ``kept`` is the present default branch, ``upstream`` that of the origin of a clone.
    """
    if kept in branches:
        return kept
    own = own_values("init.defaultBranch", environment)[-1:]
    return next((name for name in (upstream, *own, *USUAL_NAMES) if name in branches), None)
