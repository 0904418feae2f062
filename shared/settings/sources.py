"""Reads settings, each with dotted key, value and source, from TOML files, the environment and ``key=value`` pairs."""

import difflib
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, SecretStr
from pydantic.fields import FieldInfo

from codequarry.shared.errors import UnknownName, UsageError

PREFIX = "CODEQUARRY_"
MASK = "********"
_URL_ACCOUNT = re.compile(r"(?<=://)[^/@\s]+(?=@)")
# Variables with the prefix that are not settings.
PLAIN_VARIABLES = frozenset({"CODEQUARRY_CONFIG", "CODEQUARRY_DEBUG"})
NEAR_MATCHES = 3
# Names at least this similar count as typing errors; less similar names are suggested only if there are none.
NEARLY_EQUAL = 0.8


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A setting's value from one source."""

    key: str
    value: object
    source: str


Leaves = Mapping[str, FieldInfo]


def leaves_of(model: type[BaseModel], prefix: str = "") -> dict[str, FieldInfo]:
    """Return all settings of a model, except tables, by dotted key."""
    found: dict[str, FieldInfo] = {}
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            found |= leaves_of(inner, f"{prefix}{name}.")
        else:
            found[prefix + name] = field
    return found


def is_secret(field: FieldInfo) -> bool:
    """Return whether a setting is a secret or a collection of secrets."""
    return _mentions(field.annotation, SecretStr)


def from_file(path: Path, leaves: Leaves) -> list[GivenValue]:
    """Read a TOML file; relative paths are resolved against its folder. Raise UnknownName for an unknown key."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"the settings file {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {' '.join(str(error).split())}") from error
    return [
        GivenValue(key, _located(value, leaves[key], path.parent), str(path))
        for key, value in _flatten(table, leaves, path)
    ]


def from_environment(variables: Mapping[str, str], leaves: Leaves) -> list[GivenValue]:
    """Read the variables that begin with ``CODEQUARRY_``, except empty ones. Raise UnknownName for an unknown key."""
    given = []
    for name in sorted(variables):
        if name.startswith(PREFIX) and name not in PLAIN_VARIABLES and variables[name]:
            key, text = _variable(name, variables, leaves)
            given.append(GivenValue(key, parse_text(text, leaves[key]), name))
    return given


def from_pairs(pairs: Iterable[str], leaves: Leaves, source: str) -> list[GivenValue]:
    """Read ``key=value`` pairs. Raise UnknownName for an unknown key, UsageError for text without ``=``."""
    given = []
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not separator:
            raise UsageError(f"'{pair}' is not a setting; write KEY=VALUE, as in embedding.model=minilm")
        if key not in leaves:
            raise _unknown(key, leaves, f"the {source}")
        given.append(GivenValue(key, parse_text(text, leaves[key]), source))
    return given


def parse_text(text: str, field: FieldInfo) -> object:
    """Parse a value: JSON for tables and lists, or comma-separated values for lists."""
    if text[:1] in ("[", "{") and _is_collection(field.annotation):
        try:
            parsed: object = json.loads(text)
        except ValueError:
            return text
        return parsed
    if _mentions(field.annotation, tuple):
        return [part.strip() for part in text.split(",")]
    return _located(text, field, Path.cwd())


def nested(given: Iterable[GivenValue]) -> dict[str, Any]:
    """Return the values as nested tables; a later value replaces an earlier value of the same key."""
    tables: dict[str, Any] = {}
    for setting in given:
        *sections, name = setting.key.split(".")
        table = tables
        for section in sections:
            table = table.setdefault(section, {})
        table[name] = setting.value
    return tables


def _variable(name: str, variables: Mapping[str, str], leaves: Leaves) -> tuple[str, str]:
    """Return the key and text of a variable; a secret may be in a file that ``…_FILE`` names."""
    key = name.removeprefix(PREFIX).lower().replace("__", ".")
    if key in leaves:
        return key, variables[name]
    held = key.removesuffix("_file")
    if held == key or held not in leaves or not is_secret(leaves[held]):
        raise _unknown(key, leaves, "the environment", variable_of)
    if variables.get(name.removesuffix("_FILE")):
        raise UsageError(f"set {name.removesuffix('_FILE')} or {name}, not both")
    path = Path(variables[name]).expanduser()
    try:
        return held, path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name} names {path}, which cannot be read: {error}") from error


def variable_of(key: str) -> str:
    """Return the environment variable for a setting."""
    return PREFIX + key.upper().replace(".", "__")


def _flatten(table: Mapping[str, Any], leaves: Leaves, path: Path, prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in table.items():
        key = prefix + name
        if key in leaves:
            found.append((key, value))
        elif isinstance(value, dict) and any(leaf.startswith(f"{key}.") for leaf in leaves):
            found += _flatten(value, leaves, path, f"{key}.")
        elif any(leaf.startswith(f"{key}.") for leaf in leaves):
            raise UsageError(f"'{key}' in {path} is a table; write [{key}] and its settings below")
        else:
            raise _unknown(key, leaves, str(path))
    return found


def _unknown(name: str, leaves: Iterable[str], where: str, written: Callable[[str], str] = str) -> UnknownName:
    """Return an UnknownName with similar settings; ``written`` returns a key as that source writes it."""
    keys = list(leaves)
    tables = {key.rpartition(".")[0] for key in keys if "." in key}
    ends = {key.rpartition(".")[2] for key in keys}
    near = difflib.get_close_matches(name, [*keys, *tables], NEAR_MATCHES, NEARLY_EQUAL)
    if not near:
        end = difflib.get_close_matches(name.rpartition(".")[2], ends, 1, NEARLY_EQUAL)
        near = [key for key in keys if key.rpartition(".")[2] in end]
    near = near or difflib.get_close_matches(name, keys, NEAR_MATCHES)
    return UnknownName("setting", written(name), where=where, near=[written(key) for key in near])


def _located(value: object, field: FieldInfo, folder: Path) -> object:
    """Make a path absolute: expand ``~`` and resolve a relative path against ``folder``."""
    if isinstance(value, str) and _mentions(field.annotation, Path):
        return folder / Path(value).expanduser()
    return value


def without_accounts(value: object) -> object:
    """Mask the credentials in every URL in a value."""
    if isinstance(value, str):
        return _URL_ACCOUNT.sub(MASK, value)
    if isinstance(value, list | tuple):
        return [without_accounts(part) for part in value]
    if isinstance(value, dict):
        return {name: without_accounts(part) for name, part in value.items()}
    return value


def _is_collection(annotation: object) -> bool:
    return _mentions(annotation, tuple) or _mentions(annotation, dict)


def _mentions(annotation: object, wanted: type) -> bool:
    """Return whether a type is ``wanted``, is a generic form of it, or has it as an argument."""
    if annotation is wanted or getattr(annotation, "__origin__", None) is wanted:
        return True
    return any(_mentions(part, wanted) for part in get_args(annotation))


class Section(BaseModel):
    """A table of the settings file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)
