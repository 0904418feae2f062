"""The version that `codequarry index PATH` means: what is checked out there, which need not be the default branch."""

import shlex
from dataclasses import replace

from codequarry.ingest.git.checked_out import checked_out
from codequarry.ingest.git.mirrors import open_access
from codequarry.ingest.git.remote import HEAD, HEADS, Listing
from codequarry.ingest.request.index_request import IndexReport, IndexRequest
from codequarry.ingest.request.wanted_version import Wanted, resolve_request
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore

SHOWN_DIGITS = 12


def at_checkout(request: IndexRequest, settings: SettingsModel, store: DocumentStore) -> IndexRequest:
    """Return the request with the version that is checked out at the origin, or as it is if that is the default branch.

    Raise NotAtOrigin if the branch that is checked out has no commits yet.
    """
    if not request.checked_out or request.ref:
        return request
    wanted = resolve_request(request, settings, store)
    kept = wanted.default[1] if wanted.default else ""
    ref = checked_out(open_access(wanted.origin, settings.git, settings.home), kept)
    return replace(request, ref=ref, beside=ref is not None, checked_out=False)


def with_checkout_note(report: IndexReport, request: IndexRequest, store: DocumentStore) -> IndexReport:
    """Add to a report why another version than the default branch was indexed, and how to search it."""
    ref, default = request.ref, read_head(store).default_branch(report.repo)
    if ref is None:
        return report
    digits = ref.value[:SHOWN_DIGITS]
    if ref.kind == "commit":
        note = f"HEAD is detached at {digits}, and the default branch is {default}: search with --commit {digits}"
    else:
        option = shlex.join(("--branch", ref.value))
        note = f"{ref.value} is checked out, and the default branch is {default}: search with {option}"
    return replace(report, version_note=note)


def with_default_note(report: IndexReport, wanted: Wanted, listing: Listing) -> IndexReport:
    """Add to a report on the default branch that it replaced another branch, and the command that undoes this."""
    former = wanted.default[1] if wanted.default else ""
    if report.key or former in ("", report.ref):
        return report
    note = f"the default branch is now {report.ref}"
    if former == HEAD:
        note = f"{note}; HEAD was detached before"
    elif any(ref.startswith(HEADS) for ref in listing.tips) and HEADS + former not in listing.tips:
        note = f"{note}: {former} no longer exists"
    else:
        undo = shlex.join(("codequarry", "index", wanted.origin.url, "--branch", former, "--default"))
        note = f"{note} instead of {former}; to undo this: {undo}"
    return replace(report, replaced_default=former, version_note=note)
