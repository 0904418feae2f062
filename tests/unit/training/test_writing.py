from pathlib import Path

import pytest

from training.writing import remove_unfinished, whole


def test_the_old_file_stays_until_the_new_file_is_complete(tmp_path: Path) -> None:
    place = tmp_path / "list.tsv"
    place.write_text("old")
    with whole(place) as fresh:
        fresh.write_text("new")
        assert place.read_text() == "old"
    assert place.read_text() == "new"
    assert list(tmp_path.iterdir()) == [place]


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_block_that_fails_leaves_nothing(tmp_path: Path, is_folder: bool) -> None:
    def fail() -> None:
        with whole(tmp_path / "model") as fresh:
            if is_folder:
                fresh.mkdir()
            (fresh / "rows.npy" if is_folder else fresh).write_text("half")
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        fail()
    assert not list(tmp_path.iterdir())


def test_only_leftovers_of_killed_runs_are_removed(tmp_path: Path) -> None:
    (tmp_path / "pairs.gz.17.new").touch()
    (tmp_path / "tmpab.new").mkdir()
    (tmp_path / "tmpab.new/one.tgz").touch()
    (tmp_path / "pairs.gz").touch()
    remove_unfinished(tmp_path)
    remove_unfinished(tmp_path / "not-there-yet")
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.gz"]
