"""Fetches for requests use only the checked addresses, follow no redirect elsewhere, and have a size limit."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from codequarry.ingest.git.address_guard import guarded_configuration
from codequarry.ingest.git.fetch import fetch
from codequarry.ingest.git.mirrors import open_access
from codequarry.ingest.git.origins import parse_origin
from codequarry.ingest.git.redirects import is_redirected, moved_origin
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.catalog.repositories import read_repository
from codequarry.shared.errors import GitError, LimitExceeded, NotAtOrigin
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.git import GitSettings

LOOPBACK = ("127.0.0.0/8",)


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder by git's dumb protocol and redirects /old to /project.git."""

    elsewhere = ""

    def do_GET(self) -> None:
        if not self.path.startswith("/old/"):
            super().do_GET()
            return
        self.send_response(301)
        self.send_header("Location", self.elsewhere + self.path.replace("/old/", "/project.git/", 1))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port(make_repository, tmp_path) -> Iterator[int]:
    """Serve a repository with one file over HTTP."""
    repository = make_repository(files={"a.py": "def served():\n    pass\n"})
    served = tmp_path / "served"
    repository.git("clone", "--quiet", "--bare", str(repository.folder), str(served / "project.git"))
    repository.git("--git-dir", str(served / "project.git"), "update-server-info")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(served))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()


def settings(**git) -> SettingsModel:
    return SettingsModel(git=GitSettings(allowed_schemes=("http", "https"), **git))


def test_a_git_that_cannot_pin_addresses_is_not_used(tmp_path, monkeypatch):
    fake = tmp_path / "git"
    fake.write_text("#!/bin/sh\necho git version 2.34.1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    origin = parse_origin("https://git.example/a")
    with pytest.raises(NotAtOrigin, match=r"needs git 2\.37 or newer; this is git version 2\.34\.1"):
        guarded_configuration(origin, settings(), lambda *_: ("93.184.216.34",))


def test_git_uses_the_given_addresses_without_resolving(port, tmp_path):
    origin = parse_origin(f"http://nowhere.invalid:{port}/project.git")
    bound = guarded_configuration(origin, settings(private_networks=LOOPBACK), lambda *_: ("127.0.0.1",))
    assert bound == {"http.curloptResolve": f"nowhere.invalid:{port}:127.0.0.1"}
    assert fetch(open_access(origin, GitSettings(), tmp_path, bound=bound), None).commit
    with pytest.raises(GitError, match="resolve"):
        fetch(open_access(origin, GitSettings(), tmp_path / "other"), None)


def test_ipv6_addresses_are_written_in_the_form_of_curl():
    origin = parse_origin("https://example.org/a")
    bound = guarded_configuration(origin, settings(), lambda *_: ("93.184.216.34", "2606:2800:220:1::1"))
    assert bound == {"http.curloptResolve": "example.org:443:93.184.216.34,[2606:2800:220:1::1]"}


def test_a_name_that_became_private_is_not_fetched():
    with pytest.raises(NotAtOrigin, match="private network"):
        guarded_configuration(parse_origin("https://example.org/a"), settings(), lambda *_: ("10.0.0.1",))


def test_behind_a_proxy_no_address_is_pinned():
    behind = settings(proxy="http://proxy.example.org:3128", private_networks=LOOPBACK)
    assert guarded_configuration(parse_origin("http://127.0.0.1/a"), behind) == {}


def test_an_origin_named_by_a_request_stays_guarded(port, make_workshop):
    origin = f"http://127.0.0.1:{port}/project.git"
    allowed = make_workshop(git={"allowed_schemes": ("http",), "private_networks": LOOPBACK})
    index_repository(IndexRequest(origin, guarded=True), allowed)
    assert read_repository(allowed.store, "project").guarded
    with pytest.raises(NotAtOrigin, match="allowed_schemes"):
        index_repository(IndexRequest(origin), make_workshop())


def test_an_origin_named_by_a_person_is_not_guarded(port, make_workshop):
    workshop = make_workshop()
    index_repository(IndexRequest(f"http://127.0.0.1:{port}/project.git"), workshop)
    assert not read_repository(workshop.store, "project").guarded


def test_a_redirect_on_the_same_host_is_followed(port, make_workshop):
    report = index_repository(IndexRequest(f"http://127.0.0.1:{port}/old"), make_workshop())
    assert report.files_indexed == 1


def test_a_redirect_to_another_host_is_named_and_not_followed(port, make_workshop, monkeypatch):
    monkeypatch.setattr(Handler, "elsewhere", f"http://localhost:{port}")
    with pytest.raises(GitError, match=f"moved to http://localhost:{port}/project.git; give that address"):
        index_repository(IndexRequest(f"http://127.0.0.1:{port}/old"), make_workshop())


def test_a_guarded_origin_follows_no_redirect(port, make_workshop):
    workshop = make_workshop(git={"allowed_schemes": ("http",), "private_networks": LOOPBACK})
    with pytest.raises(GitError) as error:
        index_repository(IndexRequest(f"http://127.0.0.1:{port}/old", guarded=True), workshop)
    assert is_redirected(error.value)


def test_a_redirect_without_a_target_is_reported(silent_server):
    origin = parse_origin(f"http://127.0.0.1:{silent_server + 1 if silent_server < 65535 else 1}/x")
    with pytest.raises(GitError, match="does not say to which"):
        moved_origin(origin, GitSettings())


def test_a_repository_that_is_too_large_is_deleted(port, make_workshop, tmp_path):
    workshop = make_workshop(git={"max_repository_bytes": 1000})
    with pytest.raises(LimitExceeded, match="max_repository_bytes"):
        index_repository(IndexRequest(f"http://127.0.0.1:{port}/project.git"), workshop)
    assert read_repository(workshop.store, "project") is None
    assert not list((workshop.settings.home / "mirrors").glob("project*.git"))
