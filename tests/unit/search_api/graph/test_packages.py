"""Packages by their manifests, and imports that reach into other repositories."""

import pytest

from codequarry.search_api.graph.definitions import DefinedSymbol, FilePlace
from codequarry.search_api.graph.packages import DeclaredPackage, module_match, read_manifest
from codequarry.shared.relations import Definition


@pytest.mark.parametrize(
    ("path", "text", "family", "name", "folder"),
    [
        ("go.mod", "// x\nmodule example.org/shop\n\ngo 1.22\n", "go", "example.org/shop", ""),
        ("web/package.json", '{"name": "@acme/web"}', "ecmascript", "@acme/web", "web"),
        ("pyproject.toml", "[project]\nname = 'acme-shop'\n", "python", "acme-shop", ""),
        ("pyproject.toml", "[tool.poetry]\nname = 'acme'\n", "python", "acme", ""),
        ("setup.cfg", "[x]\nname = no\n[metadata]\nversion = 1\nname = acme\n", "python", "acme", ""),
        ("crates/core/Cargo.toml", "[package]\nname = 'acme-core'\n", "rust", "acme-core", "crates/core"),
    ],
)
def test_a_manifest_names_its_package(path, text, family, name, folder):
    assert read_manifest(path, text) == DeclaredPackage(family, name, folder)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("package.json", "{"),
        ("package.json", "[]"),
        ("package.json", '{"name": 5}'),
        ("package.json", "[" * 100_000),
        ("pyproject.toml", "[tool.black]\n"),
        ("pyproject.toml", "= x"),
        ("Cargo.toml", "[workspace]\n"),
        ("go.mod", ""),
        ("other.json", '{"name": "x"}'),
    ],
)
def test_a_manifest_that_names_none_or_is_broken_declares_nothing(path, text):
    assert read_manifest(path, text) is None


def symbol(repo, path, language, *names, package=None, exported=None):
    definition = Definition(names, "function", "function", 1, 2, exported=exported)
    return DefinedSymbol(FilePlace(repo, path, language, package), definition)


@pytest.mark.parametrize(
    ("module", "names", "found", "package", "matches"),
    [
        ("acme_shop.pay", ("charge",), symbol("lib", "src/acme_shop/pay.py", "python", "charge"),
         DeclaredPackage("python", "acme-shop", ""), True),
        ("other.pay", ("charge",), symbol("lib", "src/acme_shop/pay.py", "python", "charge"),
         DeclaredPackage("python", "acme-shop", ""), False),
        ("example.org/shop/pay", ("Charge",), symbol("lib", "pay/pay.go", "go", "Charge"),
         DeclaredPackage("go", "example.org/shop", ""), True),
        ("example.org/shop/other", ("Charge",), symbol("lib", "pay/pay.go", "go", "Charge"),
         DeclaredPackage("go", "example.org/shop", ""), False),
        ("@acme/web", ("pay",), symbol("lib", "web/src/pay.ts", "typescript", "pay"),
         DeclaredPackage("ecmascript", "@acme/web", "web"), True),
        ("@acme/web", ("pay",), symbol("lib", "other/pay.ts", "typescript", "pay"),
         DeclaredPackage("ecmascript", "@acme/web", "web"), False),
        ("@acme/web", ("pay",), symbol("lib", "web/src/pay.ts", "typescript", "pay", exported=False),
         DeclaredPackage("ecmascript", "@acme/web", "web"), False),
        ("acme_core::pay", ("charge",), symbol("lib", "core/src/pay.rs", "rust", "charge"),
         DeclaredPackage("rust", "acme-core", "core"), True),
        ("org.acme.pay", ("Till",), symbol("lib", "src/Till.java", "java", "Till", package="org.acme.pay"), None, True),
        ("util", ("charge",), symbol("lib", "util.py", "python", "charge"), None, False),
    ],
)  # fmt: skip
def test_other_repositories_are_reached_only_by_the_names_of_their_packages(module, names, found, package, matches):
    packages = [package] if package else []
    caller = FilePlace("app", "src/main.x", found.place.language, None)
    assert bool(module_match(module, names, found, caller, packages)) is matches


def test_scripts_import_what_lies_beside_them():
    beside = symbol("app", "tools/common.py", "python", "run")
    assert module_match("common", ("run",), beside, FilePlace("app", "tools/x.py", "python", None), [])
    assert not module_match("common", ("run",), beside, FilePlace("app", "other/x.py", "python", None), [])
