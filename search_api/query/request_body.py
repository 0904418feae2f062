"""Request bodies: each model declares its fields, their checks, and their schema in `/openapi.json`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from codequarry.shared.errors import UnknownName, UsageError

MAX_VALUE_CHARACTERS = 1_000
# No code host counts pull requests further.
MAX_PULL = 10**15
NULL = {"type": "null"}


def storable(text: str) -> str:
    """Replace lone surrogates: JSON can express them, but UTF-8, and so the engines, can't."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _storable_value(value: object) -> object:
    return storable(value) if isinstance(value, str) else value


def _whole(value: object) -> object:
    """Convert 5.0 to 5: some JSON libraries have no integers."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, BeforeValidator(_storable_value)]
WholeNumber = Annotated[int, BeforeValidator(_whole)]
# The limits come first: after a validator, the schema of an optional field would lose them.
PullNumber = Annotated[int, Field(ge=1, le=MAX_PULL), BeforeValidator(_whole)]


def _without_zero(value: str) -> str:
    if "\0" in value:
        raise UsageError("a string in the body contains a zero byte")
    return value


ShortText = Annotated[Text, Field(min_length=1, max_length=MAX_VALUE_CHARACTERS), AfterValidator(_without_zero)]
Line = Annotated[ShortText, Field(pattern=r"\S"), AfterValidator(str.strip)]


def _complete(schema: dict[str, Any], body: type["RequestBody"]) -> None:
    """Declare every optional field nullable in the schema, and add the examples."""
    schema["examples"] = list(body.examples)
    for name in schema["properties"].keys() - set(schema.get("required", ())):
        field: dict[str, Any] = schema["properties"][name]
        if NULL not in field.get("anyOf", ()):
            about: dict[str, Any] = {key: field.pop(key) for key in ("title", "description", "default") if key in field}
            schema["properties"][name] = {"anyOf": [field, NULL], **about}


class RequestBody(BaseModel):
    """A JSON object. Unknown fields are errors that name the field; null means that the field was left out."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra=_complete)
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ()

    @classmethod
    def read(cls, body: object, where: str = "") -> Self:
        """Check a body and return it; raise UnknownName or UsageError. ``where`` is the field of a nested body."""
        if not isinstance(body, Mapping):
            place = f"an entry of '{where}'" if where else "the body"
            raise UsageError(f"{place} must be a JSON object")
        try:
            return cls.model_validate({name: value for name, value in body.items() if value is not None})
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise cls._refusal(str(first["loc"][0]), first["type"], where) from None

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """Return the names of the fields as used in JSON."""
        return tuple(field.alias or name for name, field in cls.model_fields.items())

    @classmethod
    def _refusal(cls, name: str, kind: str, where: str) -> UsageError:
        if kind == "extra_forbidden":
            known = [field for field in cls.field_names() if field != "token"]
            return UnknownName("field", storable(name), known, where=where)
        place = f" in '{where}'" if where else ""
        missing = " is missing; it" if kind == "missing" else ""
        return UsageError(f"'{name}'{place}{missing} must be {_expected(cls.model_json_schema()['properties'][name])}")


def _expected(schema: Mapping[str, Any]) -> str:
    wanted = dict(schema)
    for option in schema.get("anyOf", ()):
        if option != NULL:
            wanted |= option
    match wanted.get("type"):
        case "integer":
            return f"a whole number from {wanted['minimum']} to {wanted['maximum']}"
        case "boolean":
            return "true or false"
        case "array":
            return f"a list of {wanted['minItems']} to {wanted['maxItems']} entries"
        case "object":
            return "an object of field names and values"
    if "maxLength" in wanted:
        about = f": {wanted['description']}" if "description" in wanted else ""
        return f"a string of {wanted.get('minLength', 0)} to {wanted['maxLength']:,} characters{about}"
    return "a string"
