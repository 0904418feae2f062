"""Reads the key of a request from the header or, as clients of other services send it, from the body."""

import json

from flask import Request

from codequarry.shared.errors import UsageError

BEARER = "bearer"
FIELD = "token"


def read_token(request: Request) -> str | None:
    """Return the token from ``Authorization: Bearer``, else from the field ``token`` of a JSON body, else None."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == BEARER and token.strip():
        return token.strip()
    return _in_body(request)


def _in_body(request: Request) -> str | None:
    if not request.is_json or f'"{FIELD}"'.encode() not in (body := request.get_data()):
        return None
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return None
    token = fields.get(FIELD) if isinstance(fields, dict) else None
    return token if isinstance(token, str) and token else None


def without_token(body: object) -> object:
    """Return a body without its key: the caller is already known, and no later code may see the key."""
    if not isinstance(body, dict) or FIELD not in body:
        return body
    if not isinstance(body[FIELD], str | None):
        raise UsageError(f"'{FIELD}' must be an API key, given as a string")
    return {name: value for name, value in body.items() if name != FIELD}
