"""POMs, and which of several repositories with the same Java package they mean."""

import pytest

from codequarry.search_api.graph.definitions import DefinedSymbol, FilePlace
from codequarry.search_api.graph.maven_projects import MavenProject, read_pom
from codequarry.search_api.graph.packages import DeclaredPackage, module_match, read_manifest
from codequarry.shared.relations import Definition

POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <parent><groupId>org.acme</groupId><artifactId>parent</artifactId><version>1</version></parent>
  <artifactId>app</artifactId>
  <properties><other.group>org.${word}</other.group><word>other</word><loop>${loop}</loop></properties>
  <dependencies>
    <dependency><groupId> ${project.groupId} </groupId><artifactId>pay</artifactId></dependency>
    <dependency><groupId>${other.group}</groupId><artifactId>till</artifactId><scope>test</scope></dependency>
    <dependency><groupId>${loop}</groupId><artifactId>a</artifactId></dependency>
    <dependency><groupId>${unknown}</groupId><artifactId>b</artifactId></dependency>
    <dependency><artifactId>c</artifactId></dependency>
  </dependencies>
  <dependencyManagement><dependencies>
    <dependency><groupId>org.managed</groupId><artifactId>only</artifactId></dependency>
  </dependencies></dependencyManagement>
  <profiles><profile><dependencies>
    <dependency><groupId>org.acme</groupId><artifactId>extra</artifactId></dependency>
  </dependencies></profile></profiles>
</project>
"""


def test_a_pom_says_coordinates_with_its_properties_and_the_group_of_its_parent():
    assert read_pom(POM) == MavenProject(
        "org.acme:app", frozenset({"org.acme:pay", "org.other:till", "org.acme:extra"})
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<project>",
        "<project><artifactId>x</artifactId></project>",
        "<other><groupId>g</groupId><artifactId>a</artifactId></other>",
        "<project><groupId>${g}</groupId><artifactId>a</artifactId></project>",
        '<!DOCTYPE p [<!ENTITY a "x">]><project><groupId>&a;</groupId><artifactId>a</artifactId></project>',
        "<a>" * 100_000,
    ],
)
def test_a_pom_that_names_no_project_or_is_not_safe_to_read_declares_nothing(text):
    assert read_pom(text) is None
    assert read_manifest("pom.xml", text) is None


def till(repo: str, path: str) -> DefinedSymbol:
    return DefinedSymbol(FilePlace(repo, path, "java", "org.acme.pay"), Definition(("Till",), "class", "class", 1, 2))


PAY = DeclaredPackage("jvm", "org.acme:pay", "pay")
APP = DeclaredPackage("jvm", "org.acme:app", "", dependencies=frozenset({"org.acme:pay"}))
PART = DeclaredPackage("jvm", "org.acme:part", "part")


@pytest.mark.parametrize(
    ("provider", "packages", "own", "confidence"),
    [
        ("pay/src/Till.java", [PAY], [APP, PART], 1.0),
        ("other/src/Till.java", [PAY], [APP], 0.95),
        ("pay/src/Till.java", [PAY], [PART], 0.7),
        ("pay/src/Till.java", [DeclaredPackage("jvm", "org.fork:pay", ""), PAY], [APP], 1.0),
        ("pay/src/Till.java", [DeclaredPackage("jvm", "org.fork:pay", "")], [APP], 0.7),
        ("pay/src/Till.java", [], [APP], 0.95),
        ("pay/src/Till.java", [PAY], [], 0.95),
        ("pay/src/Till.java", [], [], 1.0),
        ("pay/src/Till.java", [DeclaredPackage("go", "x", "")], [DeclaredPackage("go", "y", "")], 1.0),
    ],
)
def test_a_dependency_of_the_poms_around_the_importing_file_is_surer(provider, packages, own, confidence):
    place = FilePlace("app", "part/src/Main.java", "java", "org.app")
    found = till("lib", provider)
    assert module_match("org.acme.pay", ("Till",), found, place, packages, own) == confidence
    assert module_match("org.acme.other", ("Till",), found, place, packages, own) == 0.0
