"""Fields that are left out of an answer instead of being null."""

from pydantic import Field


def _is_none(value: object) -> bool:
    return value is None


LEFT_OUT_IF_NONE = Field(exclude_if=_is_none)
