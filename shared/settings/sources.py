"""Where settings come from: a TOML file and the environment, read into (key, value, source) against a settings model.

Nothing here knows which settings there are: the model says. Keys are dotted, as in ``embedding.model``.
"""

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
# Variables of the program itself that are no settings.
PLAIN_VARIABLES = frozenset({"CODEQUARRY_CONFIG", "CODEQUARRY_DEBUG"})
NEAR_MATCHES = 3
# Share of letters in common from which a name is a slip of the pen; only without one are farther names proposed.
NEARLY_EQUAL = 0.8


@dataclass(frozen=True, slots=True)
class GivenValue:
    """One setting as one source gives it."""

    key: str
    value: object
    source: str


Leaves = Mapping[str, FieldInfo]


def leaves_of(model: type[BaseModel], prefix: str = "") -> dict[str, FieldInfo]:
    """Return every setting of a model that is no table, by its dotted key."""
    found: dict[str, FieldInfo] = {}
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            found |= leaves_of(inner, f"{prefix}{name}.")
        else:
            found[prefix + name] = field
    return found


def is_secret(field: FieldInfo) -> bool:
    """Tell whether a setting is a secret, or a table of secrets."""
    return _mentions(field.annotation, SecretStr)


def from_file(path: Path, leaves: Leaves) -> list[GivenValue]:
    """Read a TOML file; an unknown key is an UnknownName, paths are relative to the file's folder."""
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
    """Read the variables that begin with ``CODEQUARRY_``; an unknown one is an UnknownName, an empty one is unset."""
    given = []
    for name in sorted(variables):
        if name.startswith(PREFIX) and name not in PLAIN_VARIABLES and variables[name]:
            key, text = _variable(name, variables, leaves)
            given.append(GivenValue(key, parse_text(text, leaves[key]), name))
    return given


def from_pairs(pairs: Iterable[str], leaves: Leaves, source: str) -> list[GivenValue]:
    """Read ``key=value`` pairs as given at the command line."""
    given = []
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not separator:
            raise UsageError(f"'{pair}' is no setting; write KEY=VALUE, as in embedding.model=minilm")
        if key not in leaves:
            raise _unknown(key, leaves, f"the {source}")
        given.append(GivenValue(key, parse_text(text, leaves[key]), source))
    return given


def parse_text(text: str, field: FieldInfo) -> object:
    """Read a value from text: JSON for tables and lists, a list also as values with commas between them."""
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
    """Return the tables that the values make, a later one over an earlier one."""
    tables: dict[str, Any] = {}
    for one in given:
        *sections, name = one.key.split(".")
        table = tables
        for section in sections:
            table = table.setdefault(section, {})
        table[name] = one.value
    return tables


def _variable(name: str, variables: Mapping[str, str], leaves: Leaves) -> tuple[str, str]:
    """Return the setting that a variable names and its text; ``…_FILE`` names a file that holds a secret."""
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
    """Return the environment variable of a setting."""
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
            raise UsageError(f"'{key}' in {path} is a table: write [{key}] and its settings below")
        else:
            raise _unknown(key, leaves, str(path))
    return found


def _unknown(name: str, leaves: Iterable[str], where: str, written: Callable[[str], str] = str) -> UnknownName:
    """Say that a setting does not exist, with those that are near it, each as it is ``written`` in that place.

    A key written without its table is near nothing by its letters as a whole, so its last part is compared as well.
    """
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
    """Make a path absolute: ``~`` is the user's home, a relative one counts from ``folder``."""
    if isinstance(value, str) and _mentions(field.annotation, Path):
        return folder / Path(value).expanduser()
    return value


def without_accounts(value: object) -> object:
    """Mask the account in every URL of a value."""
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
    """Tell whether a type is ``wanted``, a generic of it, or holds it."""
    if annotation is wanted or getattr(annotation, "__origin__", None) is wanted:
        return True
    return any(_mentions(part, wanted) for part in get_args(annotation))


class Section(BaseModel):
    """A table of the settings file; a key that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
