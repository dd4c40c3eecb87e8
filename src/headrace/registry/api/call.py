"""One request, as a handler sees it: typed access to path, query and body.

The rules are those of the JVM's registry, because clients rely on them: a number that is none is a
404, as an address that does not exist; a flag is true if it says `true` and false otherwise; names
of parameters are taken in both spellings, `deletedOnly` and `deleted_only`.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qsl, unquote

from headrace.http.call import Call as HttpCall
from headrace.registry.errors import RegistryError
from headrace.registry.instance import Registry

_LARGEST: Final = 2**31 - 1
_SMALLEST: Final = -(2**31)
_MAX_PARAMETERS: Final = 100
_FORMS: Final = ("format", "referenceFormat", "findTags")
"""Parameters with which a read has to parse the schema."""


class Call(HttpCall):
    """What a handler gets."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.registry: Registry = self.service.registry
        self.state = self.registry.state
        self.settings = self.registry.settings
        scope = self.request.scope
        self._path = {name: _unquoted(text) for name, text in scope["path_params"].items()}
        self._query = parsed_query(scope["query_string"].decode("latin-1"))

    # -- the path ---------------------------------------------------------------------------------

    @property
    def subject(self) -> str:
        """The subject in the path."""
        return self._path["subject"]

    @property
    def version(self) -> str:
        """The version in the path, as it was written; what it may be is up to the operations."""
        return self._path["version"]

    def name(self, part: str) -> str:
        """A text in the path."""
        return self._path[part]

    def id(self, part: str = "id") -> int:
        """A number in the path."""
        return _number(self._path[part])

    # -- the query --------------------------------------------------------------------------------

    def text(self, name: str, *also: str) -> str | None:
        """The last value of a parameter, under one of its names."""
        values = self.texts(name, *also)
        return values[-1] if values else None

    def texts(self, name: str, *also: str) -> list[str]:
        """All values of a parameter."""
        for each in (name, *also):
            if each in self._query:
                return self._query[each]
        return []

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Whether a parameter says `true`."""
        value = self.text(name)
        return default if value is None else value.lower() == "true"

    def number(self, name: str, default: int) -> int:
        """A number; 404 if it is none."""
        value = self.text(name)
        return default if value is None or value == "" else _number(value)

    @property
    def form(self) -> str:
        """In which form schemas are wanted."""
        return self.text("format") or ""

    def page(self, default_limit: int, max_limit: int) -> dict[str, int]:
        """Offset and limit; the limit of the service holds where none, or too much, is asked."""
        limit = self.number("limit", -1)
        is_allowed = 0 < limit <= max_limit
        return {"offset": self.number("offset", 0), "limit": limit if is_allowed else default_limit}

    def page_of_subjects(self) -> dict[str, int]:
        """Offset and limit of a list of names or numbers."""
        settings = self.settings
        return self.page(settings.subject_search_default_limit, settings.subject_search_max_limit)

    @property
    def must_parse(self) -> bool:
        """Whether the answer takes more than look-ups."""
        return any(self.text(name) for name in _FORMS)


def parsed_query(query: str) -> dict[str, list[str]]:
    """The parameters by their names in camel case."""
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS, errors="replace"
        )
    except ValueError:
        raise RegistryError(400, f"More than {_MAX_PARAMETERS} query parameters") from None
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(_camel(name), []).append(value)
    return found


def _camel(name: str) -> str:
    if "_" not in name:
        return name
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _number(text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 10):
        raise RegistryError(404, "HTTP 404 Not Found")
    value = int(text)
    if not _SMALLEST <= value <= _LARGEST:
        raise RegistryError(404, "HTTP 404 Not Found")
    return value


def _unquoted(text: str) -> str:
    """Percent-encoding undone; bytes that are no UTF-8 are a bad request, not another name."""
    try:
        return unquote(text, errors="strict") if "%" in text else text
    except UnicodeDecodeError:
        raise RegistryError(400, "The path is not UTF-8") from None
