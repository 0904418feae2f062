"""The definitions that are known while references are resolved, by name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from codequarry.shared.relations import PASSED_ON, Definition, Reference, Target

_CLASS_TYPES = frozenset({"class", "interface", "enum"})
_FAMILIES: Mapping[str, str] = {
    "javascript": "ecmascript", "typescript": "ecmascript", "vue": "ecmascript", "svelte": "ecmascript",
    "c": "c", "c++": "c", "objective-c": "c", "objective-c++": "c", "cuda": "c",
    "java": "jvm", "kotlin": "jvm", "scala": "jvm", "groovy": "jvm",
}  # fmt: skip


@dataclass(frozen=True)
class FilePlace:
    """The file version that a definition or reference stands in."""

    repo: str
    path: str
    language: str = field(compare=False)
    package: str | None = field(compare=False)
    is_test: bool = field(default=False, compare=False)

    @property
    def family(self) -> str:
        """The languages whose files use each other's symbols share a family."""
        return _FAMILIES.get(self.language, self.language)

    @property
    def is_stub(self) -> bool:
        """Whether the file only declares what a source beside it, if there is one, defines."""
        return self.path.endswith(".pyi")

    @cached_property
    def folder(self) -> str:
        """The path of the folder, empty at the root."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class DefinedSymbol:
    """A definition and the file version that it stands in."""

    place: FilePlace
    definition: Definition

    @property
    def path(self) -> tuple[str, ...]:
        """Its names in the file."""
        return self.definition.path

    @property
    def is_alias(self) -> bool:
        """Whether it only gives another definition a name, in a module that passes it on."""
        return self.definition.symbol_kind == PASSED_ON and self.definition.type is not None

    @property
    def is_extension(self) -> bool:
        """Whether it is a member of a type that may be defined in any file."""
        return self.definition.symbol_kind == "extension"

    @property
    def is_member(self) -> bool:
        """Whether its name means it after a type's name; a constructor has its type's name, which means the type."""
        return self.definition.symbol_kind != "constructor"

    @property
    def has_members(self) -> bool:
        """Whether names after it mean its members."""
        return self.definition.symbol_type in _CLASS_TYPES or self.definition.symbol_kind in {"module", "namespace"}


@dataclass(frozen=True, slots=True)
class WrittenReference:
    """A reference and the file version that it stands in."""

    place: FilePlace
    reference: Reference


FILE: Literal["file"] = "file"
"""The kind of a symbol that stands for a whole file, such as a module or the target of a link."""


def whole_file(place: FilePlace) -> DefinedSymbol:
    """Return the symbol that stands for a file."""
    return DefinedSymbol(place, Definition((place.path.rpartition("/")[2],), FILE, FILE, 1, 1))


def gives_members(family: str, kind: str) -> bool:
    """Return whether a type has the members of the types that it refers to in this way.

    In JavaScript and TypeScript, a class has of the interfaces that it implements only what it declares itself.
    """
    return kind == "inherits" or (kind == "implements" and family != "ecmascript")


class DefinitionTable:
    """Definitions by name and files by module, as far as they have been read; the others are wanted.

    A caller resolves, reads all that is wanted in one request each, and resolves again.
    """

    def __init__(self) -> None:
        self._wanted: set[str] = set()
        self._wanted_modules: set[str] = set()
        self._modules: dict[str, list[DefinedSymbol]] = {}
        self._named: dict[str, list[DefinedSymbol]] = {}
        self._bases: dict[tuple[str, str, tuple[str, ...]], list[Target]] = {}

    def take_wanted(self) -> tuple[set[str], set[str]]:
        """Return the names and the modules that were asked for since the last call and have not been read."""
        wanted, modules = self._wanted, self._wanted_modules
        self._wanted, self._wanted_modules = set(), set()
        return wanted, modules

    def add(self, name: str, found: Iterable[DefinedSymbol]) -> None:
        """Add all definitions with a name."""
        self._named[name] = list(found)

    def add_bases(self, type_: DefinedSymbol, bases: Iterable[Target]) -> None:
        """Add the types that a type inherits from."""
        known = self._bases.setdefault(_key(type_), [])
        known += [base for base in bases if base not in known]

    def add_module(self, module: str, found: Iterable[FilePlace]) -> None:
        """Add the files of a module."""
        self._modules[module] = [whole_file(place) for place in found]

    def module(self, module: str) -> list[DefinedSymbol]:
        """Return the files of a module, or none for a module that has not been looked up."""
        found = self._modules.get(module)
        if found is None:
            self._wanted_modules.add(module)
            return []
        return found

    def named(self, name: str) -> list[DefinedSymbol]:
        """Return the definitions with a name, or none for a name that has not been read."""
        found = self._named.get(name)
        if found is None:
            self._wanted.add(name)
            return []
        return found

    def has_read(self, names: Iterable[str]) -> bool:
        """Return whether the definitions of some names have been read; those that have not are wanted."""
        missing = [name for name in names if name not in self._named]
        self._wanted.update(missing)
        return not missing

    def bases(self, type_: DefinedSymbol) -> list[Target]:
        """Return the types that a type inherits from, as its file names them."""
        return self._bases.get(_key(type_), [])


def _key(type_: DefinedSymbol) -> tuple[str, str, tuple[str, ...]]:
    return type_.place.repo, type_.place.path, type_.path
