from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.transaction.plan import make_plan, skips
from codequarry.shared.model import INDEXED, FileRecord


def task(path: str, blob: str = "b", rules: str = "r", skip: str | None = None) -> FileTask:
    return FileTask(path, blob, 1, rules, skip)


def live(path: str, blob: str = "b", rules: str = "r", verdict: str = INDEXED) -> FileRecord:
    return FileRecord("repo", path, blob, verdict, 1, rules, timeline=1, born=2)


def test_files_with_equal_blob_and_rules_are_kept():
    plan = make_plan([task("a"), task("b")], [live("a"), live("b", verdict="binary")])
    assert plan.is_empty
    assert plan.kept == 2
    assert plan.kept_verdicts == {INDEXED: 1, "binary": 1}


def test_a_new_file_is_written_and_nothing_retired():
    plan = make_plan([task("a"), task("new")], [live("a")])
    assert [task.path for task in plan.changed] == ["new"]
    assert not plan.retired


def test_a_changed_blob_is_written_and_the_old_blob_retired():
    plan = make_plan([task("a", blob="c")], [live("a")])
    assert [task.path for task in plan.changed] == ["a"]
    assert plan.retired == {"a"}
    assert plan.removed == 0


def test_changed_rules_retire_and_write_an_unchanged_blob():
    plan = make_plan([task("a", rules="s", skip="excluded")], [live("a")])
    assert [task.path for task in plan.changed] == ["a"]
    assert plan.retired == {"a"}


def test_a_deleted_file_is_retired():
    plan = make_plan([], [live("a"), live("b")])
    assert plan.retired == {"a", "b"}
    assert plan.removed == 2
    assert not plan.changed


def test_a_path_with_two_live_records_is_written_again():
    plan = make_plan([task("a")], [live("a"), live("a")])
    assert [task.path for task in plan.changed] == ["a"]
    assert plan.retired == {"a"}


def test_skips_are_counted_by_reason_most_frequent_first():
    assert list(skips({INDEXED: 9, "binary": 1, "excluded": 3, "symlink": 0}).items()) == [
        ("excluded", 3),
        ("binary", 1),
    ]
