"""A look into an origin's folder is cached for a moment, and a silent disk does not delay answers."""

import threading

import pytest

from codequarry.search_api.versions.local_heads import AskedVersion, LocalHeads, SeenTip
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.origins import read_origin
from codequarry.shared.repositories.local_refs import LocalTip
from codequarry.shared.repositories.mirror_folders import mirror_folder
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.versions.refs import Ref

MAIN = Ref("branch", "main")
A, B = "a" * 40, "b" * 40


@pytest.fixture
def settings(tmp_path):
    return SettingsModel(home=tmp_path / "home")


@pytest.fixture
def core(settings):
    repository = Repository("core", "/srv/core", "main", id="1")
    mirror_folder(read_origin(repository.origin), settings.home).mkdir(parents=True)
    return repository


def test_a_look_is_cached_for_a_moment(settings, core):
    clock, tips = {"now": 0.0}, [LocalTip(B), LocalTip(A)]
    heads = LocalHeads(settings, lambda: clock["now"], lambda *_: tips.pop())
    assert heads.tip(core, MAIN, A).commit == A
    clock["now"] = 0.9
    assert heads.tip(core, MAIN, A).commit == A
    assert len(tips) == 1
    clock["now"] = 1.1
    assert heads.tip(core, MAIN, A).commit == B


def test_remote_origins_are_not_looked_at(settings):
    heads = LocalHeads(settings, read=lambda *_: pytest.fail("there is no folder to read"))
    assert heads.tip(Repository("core", "https://git.example/core.git", "main"), MAIN, A) is None
    assert heads.tip(Repository("core", "", "main"), MAIN, A) is None


def test_an_old_look_is_not_repeated_as_a_new_one(settings, core):
    clock, answer = {"now": 0.0}, threading.Event()
    tips = [lambda: answer.wait(60) and LocalTip(B), lambda: LocalTip(A)]
    heads = LocalHeads(settings, lambda: clock["now"], lambda *_: tips.pop()())
    assert heads.tip(core, MAIN, A).commit == A
    clock["now"] = 3.0
    assert heads.tip(core, MAIN, A) is None
    answer.set()


def test_several_versions_share_one_look(settings, core):
    threads = []

    def read(*_):
        threads.append(threading.current_thread())
        return LocalTip(A)

    heads = LocalHeads(settings, read=read)
    heads.look([AskedVersion(core, Ref("branch", name), A) for name in ("main", "dev")])
    assert heads.tip(core, MAIN, A).commit == heads.tip(core, Ref("branch", "dev"), A).commit == A
    assert len(threads) == 2 and len(set(threads)) == 1


def test_a_version_that_is_gone_is_known_to_be_gone(settings, core):
    seen = LocalHeads(settings, read=lambda *_: LocalTip(None)).tip(core, MAIN, A)
    assert isinstance(seen, SeenTip) and seen.commit is None and seen.seen_at


def test_while_a_disk_is_silent_no_further_look_waits_for_it(settings, core):
    answer, looks = threading.Event(), []

    def read(*_):
        looks.append(1)
        assert answer.wait(60)
        return LocalTip(B)

    heads = LocalHeads(settings, read=read)
    assert heads.tip(core, MAIN, A) is None
    assert heads.tip(core, Ref("branch", "dev"), A) is None
    assert len(looks) == 1
    answer.set()
    heads._waiting.join()
    assert heads.tip(core, Ref("branch", "other"), A).commit == B
