"""Addresses before they are routed: one spelling, and contexts moved to where they belong.

Paths stay percent-encoded until a handler takes its part of them, since a subject may contain `/`.
`/contexts/.c/…` is a view of the registry that has only one context: the prefix goes away, subjects
in the rest become `:.c:subject`, and where a path has no subject the query names the context.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode

from headrace.registry.errors import RegistryError
from headrace.registry.subjects import DEFAULT_CONTEXT, EVERY_CONTEXT, parsed_context, scope_of

_BEFORE_SUBJECTS: Final = frozenset({"subjects", "deks"})
_SCOPES: Final = frozenset({"config", "mode"})
_MAX_PARAMETERS: Final = 100


def routed(raw_path: str, query: str, method: str) -> tuple[str, str]:
    """Path and query as the routes know them."""
    path = raw_path.rstrip("/") or "/"
    if not path.startswith("/contexts/"):
        return path, query
    _, _, context, *rest = path.split("/")
    if not rest:
        return path, query
    scope = scope_of(parsed_context(unquote(context))) or ""
    path = _with_subjects(rest, scope)
    return path, _with_query(path, query, scope, method)


def _with_subjects(parts: list[str], scope: str) -> str:
    """The path after the context, its subject qualified."""
    placed: list[str] = []
    is_subject = False
    for position, part in enumerate(parts):
        placed.append(_qualified(part, scope) if is_subject else part)
        is_subject = not is_subject and (
            part in _BEFORE_SUBJECTS or (position == 0 and part in _SCOPES)
        )
    if is_subject and parts[0] in _SCOPES and scope:
        placed.append(quote(scope, safe=""))
    return "/" + "/".join(placed)


def _with_query(path: str, query: str, scope: str, method: str) -> str:
    if path.startswith("/schemas/ids/"):
        return _replaced(query, "subject", scope)
    if path in ("/schemas", "/subjects") or path.startswith("/dek-registry/v1/keks"):
        return _replaced(query, "subjectPrefix", scope)
    if path.startswith("/associations") and method in ("POST", "PUT", "PATCH"):
        return _replaced(query, "context", scope, is_whole=True)
    return query


def _replaced(query: str, name: str, scope: str, *, is_whole: bool = False) -> str:
    """The query with this parameter moved into the scope, or added."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        raise RegistryError(400, f"More than {_MAX_PARAMETERS} query parameters") from None
    values = [value for key, value in pairs if key == name] or [""]
    others = [(key, value) for key, value in pairs if key != name]
    moved = [scope if is_whole else _scoped(value, scope) for value in values]
    return urlencode([*others, *((name, value) for value in moved)])


def _qualified(part: str, scope: str) -> str:
    return quote(_scoped(unquote(part), scope), safe="")


def _scoped(subject: str, scope: str) -> str:
    has_context = subject.startswith((f":{DEFAULT_CONTEXT}", EVERY_CONTEXT))
    return subject if has_context else scope + subject
