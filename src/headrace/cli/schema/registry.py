"""The registry that a `headrace schema` command talks to, and its answers as data or failures.

Everything goes through `Registry.ask`, so that a registry that is silent, refuses, or is none at
all is told in the same words by every command.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Annotated, Any, Final, Self, TypeAlias
from urllib.parse import quote

import typer

from headrace.cli import profiles
from headrace.cli.completion import complete_subject
from headrace.cli.failures import Failure, did_you_mean
from headrace.cli.options import parse_pairs

DEFAULT_URL: Final = "http://127.0.0.1:8081"

RegistryOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--registry",
        "-r",
        metavar="URL,…",
        envvar="SCHEMA_REGISTRY_URL",
        help="The schema registry; several instances by commas.",
    ),
]
RegistryProperties: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--client-property",
        "-X",
        metavar="KEY=VALUE",
        help="A setting of the registry's client, such as basic.auth.user.info=USER:PASSWORD.",
        show_default=False,
    ),
]
SubjectArgument: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="SUBJECT", autocompletion=complete_subject, show_default=False),
]

_SUBJECT_MISSING: Final = 40401
_PAGE_ITEMS: Final = 1000
_UNREACHABLE: Final = 'start one with "headrace up", or name another address with --registry'
_REMEDIES: Final = {
    401: "sign in with -X basic.auth.user.info=USER:PASSWORD",
    403: "the user's role does not allow this",
    409: 'see what breaks with "headrace schema check"',
    40402: 'see "headrace schema list --versions" for the versions there are',
    40403: 'see "headrace schema list" for the ids there are',
    40404: "delete it for good with --permanent",
    40406: "delete it for good with --permanent",
    40408: "the level of the registry applies; leave the subject out to see it",
    40409: "the mode of the registry applies; leave the subject out to see it",
    40901: 'see what breaks with "headrace schema check"',
    42201: "correct the schema, or name its format with --type",
    42202: "a version is a number from 1 on, or latest",
    42203: "use BACKWARD, FORWARD, FULL, each with or without _TRANSITIVE, or NONE",
    42204: "use READWRITE, READONLY, READONLY_OVERRIDE, IMPORT or FORWARD",
    42205: 'see "headrace schema mode" for what is allowed',
    42206: "delete first what refers to it",
    50003: "look at the primary of the registry",
    50004: "the registry has no primary; look at its instances",
}


class Refused(Failure):
    """The registry's own error."""

    def __init__(self, cause: str, remedy: str, error_code: int) -> None:
        super().__init__(cause, remedy)
        self.error_code = error_code


class Registry:
    """One registry for one command; use as a context manager."""

    def __init__(self, url: str, properties: list[str]) -> None:
        # A tenth of a second that `--help` need not wait for.
        from headrace.client.registry import RegistryClient, registry_settings

        kept = {"schema.registry.url": url, **profiles.settings_for_registry(url)}
        given = {**kept, **parse_pairs(properties, "-X")}
        self.client = RegistryClient(registry_settings(given))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.client.close()

    def ask(
        self,
        method: str,
        *path: str | int,
        query: Mapping[str, object] | None = None,
        body: object = None,
    ) -> Any:
        """The answer, as plain data; the parts of the path may hold any character."""
        from headrace.client.registry import RegistryRefused, RegistryUnreachable

        target = "/" + "/".join(quote(str(part), safe="") for part in path)
        asked = {
            key: str(value).lower() if isinstance(value, bool) else str(value)
            for key, value in (query or {}).items()
            if value is not None
        }
        try:
            status, answer = self.client.request(method, target, body, asked)
        except RegistryUnreachable as error:
            raise Failure(str(error), _UNREACHABLE) from None
        except RegistryRefused as error:
            # It has answered, but not in JSON.
            raise self._refused(error.http_status, None) from None
        if status >= 400:
            raise self._refused(status, answer)
        return answer

    def _refused(self, status: int, answer: object) -> Failure:
        if not isinstance(answer, dict) or "message" not in answer:
            return Failure(
                f"the server answers {status}, and not as a schema registry does",
                "check the address given with --registry",
            )
        code = answer.get("error_code", status)
        remedy = _REMEDIES.get(code, f"the registry says {code}")
        return Refused(str(answer["message"]).rstrip("."), remedy, int(code))

    def pages(self, *path: str, query: Mapping[str, object]) -> Iterator[Any]:
        """Every item of a list that the registry hands out in pieces."""
        offset = 0
        while page := self.ask(
            "GET", *path, query={**query, "offset": offset, "limit": _PAGE_ITEMS}
        ):
            yield from page
            offset += len(page)

    def explain_subject(self, refused: Refused, subject: str) -> Failure:
        """The same failure, with the names that look alike if the subject is not there."""
        if refused.error_code != _SUBJECT_MISSING:
            return refused
        known = self.pages("subjects", query={})
        hint = did_you_mean(subject, known) or 'see "headrace schema list"'
        return Failure(f'there is no subject "{subject}"', hint)
