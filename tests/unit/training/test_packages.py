import pytest

from training.kept_apart import is_kept_apart
from training.licences import is_permissive
from training.packages import Package, read_packages, write_packages


def test_a_package_list_survives_a_round_trip(tmp_path):
    packages = [Package("npm", "@scope/name", "1.0", "MIT"), Package("maven", "a:b", "2", "Apache-2.0")]
    write_packages(packages, tmp_path / "list.tsv")
    assert read_packages(tmp_path / "list.tsv") == sorted(packages)
    assert "/" not in packages[0].key and ":" not in packages[1].key


@pytest.mark.parametrize("line", ["npm\tname\t1.0\t", "cpan\tname\t1\tMIT", "npm name", "npm\tname\t1\tMIT\tmore"])
def test_an_invalid_line_is_named_in_the_error(tmp_path, line):
    path = tmp_path / "list.tsv"
    path.write_text(f"registry\tname\tversion\tlicence\n{line}\n")
    with pytest.raises(ValueError, match=r"list\.tsv:2"):
        read_packages(path)


def test_every_pinned_package_may_be_used_for_training():
    packages = read_packages()
    assert len({(package.registry, package.name) for package in packages}) == len(packages)
    assert [package for package in packages if is_kept_apart(package)] == []
    assert [package for package in packages if not is_permissive(package.licence)] == []


@pytest.mark.parametrize(
    ("registry", "name"),
    [
        ("pypi", "requests"), ("pypi", "Flask"), ("npm", "@reduxjs/toolkit"), ("crates", "tokio-util"),
        ("maven", "io.ktor:ktor-server-core"), ("go", "github.com/go-chi/chi/v5"), ("debian", "ruby-rails"),
    ],
)  # fmt: skip
def test_packages_of_evaluation_repositories_are_kept_apart(registry, name):
    assert is_kept_apart(Package(registry, name, "1"))


@pytest.mark.parametrize("name", ["requests-oauthlib", "flask-login", "serde_json", "clickhouse-go", "plugin"])
def test_packages_with_similar_names_are_not_kept_apart(name):
    assert not is_kept_apart(Package("pypi", name, "1"))
