"""The attributes of a repository decide about its files, in commits, branches and working trees."""

from codequarry.ingest.fsck.versions import check_version
from codequarry.ingest.request.index_request import IndexRequest
from codequarry.ingest.run.pipeline import index_repository
from codequarry.shared.catalog.ledger import published_transactions, read_head
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import version_snapshot

FILES = {
    "api/client.go": "package api\n\nfunc Call() {}\n",
    "api/server.go": "package api\n\nfunc Serve() {}\n",
    "lib/parse.inc": "<?php\nfunction parse() {}\n",
    "main.go": "package main\n\nfunc main() {}\n",
}


def kinds(workshop, key: str = "") -> dict[str, tuple[str, str]]:
    """Return the kind and the language of each file of a version."""
    head = read_head(workshop.store)
    [timeline] = [number for number, state in head.timelines.items() if state.ref == key and not state.former]
    record = published_transactions(workshop.store, head, timeline)[-1]
    chunks = (
        workshop.store.chunks(version_snapshot(head, record), path, "project") for path in [*FILES, ".gitattributes"]
    )
    return {chunk.path: (chunk.kind_of_file, chunk.language) for found in chunks for chunk in found}


def record_of(workshop):
    head = read_head(workshop.store)
    [timeline] = [number for number, state in head.timelines.items() if state.ref == ""]
    return published_transactions(workshop.store, head, timeline)[-1]


def test_a_change_of_attributes_reads_only_the_files_again_that_it_concerns(make_repository, make_workshop):
    repository, workshop = make_repository("project", files=FILES), make_workshop()
    index_repository(IndexRequest(repository.origin), workshop)
    assert kinds(workshop)["api/client.go"] == ("source", "go")
    repository.write(".gitattributes", "lib/*.inc linguist-language=PHP\n")
    repository.write("api/.gitattributes", "client.go linguist-generated\n")
    repository.commit()
    report = index_repository(IndexRequest(repository.origin), workshop)
    assert report.files_changed == 4, "the two lists, and the two files that they name"
    assert kinds(workshop)["api/client.go"] == ("generated", "go")
    assert kinds(workshop)["api/server.go"] == ("source", "go")
    assert kinds(workshop)["lib/parse.inc"] == ("source", "php")
    assert check_version(record_of(workshop), workshop, full_text=True).problems == ()
    (repository.folder / "api/.gitattributes").unlink()
    repository.commit()
    assert index_repository(IndexRequest(repository.origin), workshop).files_changed == 1
    assert kinds(workshop)["api/client.go"] == ("source", "go")


def test_a_branch_and_a_working_tree_have_their_own_attributes(make_repository, make_workshop):
    repository, workshop = make_repository("project", files=FILES), make_workshop()
    index_repository(IndexRequest(repository.origin), workshop)
    repository.git("checkout", "--quiet", "-b", "dev")
    repository.write(".gitattributes", "main.go linguist-vendored\n")
    repository.commit()
    index_repository(IndexRequest(repository.origin, Ref("branch", "dev")), workshop)
    assert kinds(workshop, "refs/heads/dev")["main.go"] == ("vendored", "go")
    assert kinds(workshop)["main.go"] == ("source", "go")
    repository.write(".gitattributes", "main.go linguist-generated\n")
    tree = Ref("workspace", str(repository.folder))
    index_repository(IndexRequest("", tree), workshop)
    assert kinds(workshop, tree.key)["main.go"] == ("generated", "go")
