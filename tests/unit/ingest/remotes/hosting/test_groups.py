"""Listing organisations and groups from a small server with both APIs."""

import json
import re
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from codequarry.ingest.remotes.hosting.groups import list_group
from codequarry.shared.errors import GitError, NotAtOrigin
from codequarry.shared.repositories.followed_versions import rules_of
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.triggers import RepositoryGroup

PAGE_SIZE = 2


class CodeHost:
    """A code host with some repositories; ``refusals`` (status and headers) are answered first."""

    def __init__(self):
        self.github = {"orgs/acme": [], "users/ada": []}
        self.gitlab = {"team/backend": []}
        self.refusals = []
        self.seen = []
        self.next_host = None
        host = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                host.seen.append((self.path, self.headers.get("Authorization")))
                if host.refusals:
                    self.answer(*host.refusals.pop(0), [])
                    return
                listed = host.listed(urlsplit(self.path).path)
                if listed is None:
                    self.answer(404, {}, {"message": "Not Found"})
                    return
                page = int(parse_qs(urlsplit(self.path).query).get("page", ["1"])[0])
                more = len(listed) > page * PAGE_SIZE
                base = host.next_host or f"http://{self.headers['Host']}"
                address = re.sub(r"&page=\d+", "", self.path)
                link = {"Link": f'<{base}{address}&page={page + 1}>; rel="next", <{base}/>; rel="last"'} if more else {}
                self.answer(200, link, listed[(page - 1) * PAGE_SIZE : page * PAGE_SIZE])

            def answer(self, status, headers, body):
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def listed(self, path):
        if found := re.fullmatch(r"/((?:orgs|users)/[^/]+)/repos", path):
            return self.github.get(found[1])
        found = re.fullmatch(r"/api/v4/groups/([^/]+)/projects", path)
        return self.gitlab.get(unquote(found[1])) if found else None


@pytest.fixture
def host():
    host = CodeHost()
    thread = Thread(target=host.server.serve_forever, args=(0.01,))
    thread.start()
    yield host
    host.server.shutdown()
    thread.join()
    host.server.server_close()


def hub(path, **fields):
    return {"full_name": path, "clone_url": f"https://hub/{path}.git", "size": 7, **fields}


def lab(path, **fields):
    return {"path_with_namespace": path, "http_url_to_repo": f"https://lab/{path}.git", **fields}


def names(group, settings=None, pauses=None):
    found = list_group(group, settings or SettingsModel(), (pauses if pauses is not None else []).append)
    return [repository.path for repository in found]


def test_every_page_of_an_organisation_is_read(host):
    host.github["orgs/acme"] = [hub(f"acme/r{number}") for number in range(5)]
    group = RepositoryGroup(github_org="acme", api_url=host.url)
    assert names(group) == [f"acme/r{number}" for number in range(5)]
    assert len(host.seen) == 3


def test_a_github_user_is_listed_like_an_organisation(host):
    host.github["users/ada"] = [hub("ada/engine")]
    assert names(RepositoryGroup(github_org="ada", api_url=host.url)) == ["ada/engine"]


def test_a_gitlab_group_is_listed_with_its_subgroups(host):
    host.gitlab["team/backend"] = [lab("team/backend/a"), lab("team/backend/deep/b"), lab("team/backend/c")]
    group = RepositoryGroup(gitlab_group="team/backend", api_url=f"{host.url}/api/v4")
    assert names(group) == ["team/backend/a", "team/backend/c", "team/backend/deep/b"]
    assert "include_subgroups=true" in host.seen[0][0]


def test_archived_forked_and_empty_repositories_are_left_out_by_default(host):
    host.github["orgs/acme"] = [
        hub("acme/plain"),
        hub("acme/old", archived=True),
        hub("acme/copy", fork=True),
        hub("acme/empty", size=0),
        hub("acme/gone", clone_url=None),
    ]
    assert names(RepositoryGroup(github_org="acme", api_url=host.url)) == ["acme/plain"]
    everything = RepositoryGroup(github_org="acme", api_url=host.url, archived=True, forks=True)
    assert names(everything) == ["acme/copy", "acme/old", "acme/plain"]


def test_repositories_are_selected_by_patterns(host):
    host.github["orgs/acme"] = [hub("acme/api-one"), hub("acme/API-two"), hub("acme/site")]
    group = RepositoryGroup(github_org="acme", api_url=host.url, include=("api-*",), exclude=("acme/*two",))
    assert names(group) == ["acme/api-one"]


def test_every_page_is_requested_with_the_token_of_group_or_host(host, monkeypatch):
    monkeypatch.setenv("HOST_TOKEN", "t0ken")
    host.github["orgs/acme"] = [hub(f"acme/r{number}") for number in range(3)]
    names(RepositoryGroup(github_org="acme", api_url=host.url, token_variable="HOST_TOKEN"))
    assert {token for _, token in host.seen} == {"Bearer t0ken"}
    host.seen.clear()
    settings = SettingsModel.model_validate({"git": {"tokens": {host.url.removeprefix("http://"): "other"}}})
    names(RepositoryGroup(github_org="acme", api_url=host.url), settings)
    assert {token for _, token in host.seen} == {"Bearer other"}


@pytest.mark.parametrize(
    ("refusal", "pause"),
    [
        ((429, {"Retry-After": "7"}), 7.0),
        ((403, {"Retry-After": "3"}), 3.0),
        ((403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}), 1.0),
        ((503, {}), 2.0),
    ],
)
def test_a_requested_pause_is_respected(host, refusal, pause):
    host.github["orgs/acme"] = [hub("acme/a")]
    host.refusals = [refusal]
    pauses = []
    assert names(RepositoryGroup(github_org="acme", api_url=host.url), pauses=pauses) == ["acme/a"]
    assert pauses == [pause]


@pytest.mark.parametrize(
    ("refusals", "error", "message"),
    [
        ([(429, {"Retry-After": "4000"})], GitError, "4,000 s"),
        ([(401, {})], GitError, "rejects the token"),
        ([(403, {})], GitError, "rejects the token"),
        ([(302, {"Location": "http://127.0.0.1:1/"})], GitError, "answered with status 302"),
        ([(503, {})] * 5, GitError, "5 attempts"),
    ],
)
def test_a_refusal_of_the_host_is_a_clear_error(host, refusals, error, message):
    host.refusals = refusals
    with pytest.raises(error, match=message):
        names(RepositoryGroup(github_org="acme", api_url=host.url))


def test_a_missing_group_and_an_unreachable_host_are_clear_errors(host):
    with pytest.raises(NotAtOrigin, match="no such organisation"):
        names(RepositoryGroup(gitlab_group="nobody", api_url=f"{host.url}/api/v4"))
    host.server.server_close()
    with pytest.raises(GitError, match="does not answer"):
        names(RepositoryGroup(github_org="acme", api_url="http://127.0.0.1:9"))


def test_a_next_page_on_another_host_is_not_followed(host):
    host.github["orgs/acme"] = [hub(f"acme/r{number}") for number in range(3)]
    host.next_host = "http://127.0.0.1:9"
    with pytest.raises(GitError, match="not followed"):
        names(RepositoryGroup(github_org="acme", api_url=host.url))


def test_the_rules_of_a_group_apply_to_its_repositories():
    group = {"github_org": "Acme", "exclude": ["old-*"], "refs": ["release/*"], "external_models": False}
    settings = SettingsModel.model_validate({"repository_groups": [group]})
    rules = rules_of(settings, "git@github.com:acme/api.git")
    assert rules is not None and (rules.refs, rules.external_models) == (("release/*",), False)
    for origin in ("https://github.com/acme/old-api", "https://github.com/other/api", "https://git.example/acme/api"):
        assert rules_of(settings, origin) is None


@pytest.mark.parametrize(
    "answer", [b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n[{"]
)
def test_an_invalid_or_incomplete_response_is_a_clear_error(answer):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = Thread(target=serve)
        thread.start()
        group = RepositoryGroup(github_org="acme", api_url=f"http://127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(GitError, match="does not answer"):
            list_group(group, SettingsModel())
        thread.join()
