"""The registry that a `headrace schema` command talks to, and its answers as data or failures.

Everything goes through `Registry.ask`, so that a registry that is silent, refuses, or is none at
all is told in the same words by every command.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Self, TypeAlias
from urllib.parse import quote

import typer

from headrace.cli import profiles
from headrace.cli.completion import complete_subject
from headrace.cli.failures import Failure, did_you_mean
from headrace.cli.options import NONE_GIVEN, parse_pairs
from headrace.cli.parameters import Made, argument, option

if TYPE_CHECKING:
    from headrace.client.registry import RegistryClient

DEFAULT_URL: Final = "http://127.0.0.1:8081"
# With and without the prefix that the client's settings may have.
_URL_SETTINGS: Final = ("schema.registry.url", "url")


class GivenUrl(str):
    """The value of --registry where it stands on the command line itself."""

    __slots__ = ()


def mark_given(
    context: typer.Context, parameter: typer.CallbackParam, value: str | None
) -> str | None:
    """Keep apart what was typed for this command and what comes from elsewhere."""
    source = context.get_parameter_source(parameter.name or "")
    typed = source is not None and source.name == "COMMANDLINE"
    return GivenUrl(value) if typed and value is not None else value


RegistryOption: TypeAlias = Annotated[
    str,
    option(
        "--registry -r URL,…",
        "The schema registry; separate several instances with commas.",
        envvar="SCHEMA_REGISTRY_URL",
        callback=mark_given,
    ),
]
RegistryProperties: TypeAlias = Annotated[
    list[str],
    option(
        "--client-property -X KEY=VALUE",
        "A setting of the registry's client, such as basic.auth.user.info=USER:PASSWORD.",
    ),
]
SubjectArgument: TypeAlias = Annotated[str, argument("SUBJECT", autocompletion=complete_subject)]

_SUBJECT_MISSING: Final = 40401
_PAGE_ITEMS: Final = 1000
UNREACHABLE: Final = 'start one with "headrace up", or name another address with --registry'
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
    50003: "check the log of the primary",
    50004: "the registry has no primary; check the logs of its instances",
}


def open_client(url: str, properties: Mapping[str, str]) -> RegistryClient:
    """A client of this registry, with what the profile in force says where `properties` do not.

    The address in `properties` counts more than one of the environment or a profile, and less than
    --registry. Only for the profile's own registry are the secrets of the profile.
    """
    # A tenth of a second that `--help` need not wait for.
    from headrace.client.registry import RegistryClient, registry_settings

    named = [properties[name] for name in _URL_SETTINGS if name in properties]
    asked = url if isinstance(url, GivenUrl) or not named else named[0]
    others = {name: text for name, text in properties.items() if name not in _URL_SETTINGS}
    kept = {"schema.registry.url": asked, **profiles.settings_for_registry(asked)}
    return RegistryClient(registry_settings({**kept, **others}))


def addresses(client: RegistryClient) -> str:
    """The registry that is really asked, for texts."""
    return ",".join(client.settings.urls)


class Refused(Failure):
    """The registry's own error."""

    def __init__(self, cause: str, remedy: str, error_code: int) -> None:
        super().__init__(cause, remedy)
        self.error_code = error_code


class Registry:
    """One registry for one command; use as a context manager."""

    def __init__(self, url: str, properties: list[str]) -> None:
        self.client = open_client(url, parse_pairs(properties, "-X"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
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
            raise Failure(str(error), UNREACHABLE) from None
        except RegistryRefused as error:
            # It has answered, but not in JSON.
            raise self._refused(error.http_status, None) from None
        if status >= 400:
            raise self._refused(status, answer)
        return answer

    def _refused(self, status: int, answer: object) -> Failure:
        if not isinstance(answer, dict) or "message" not in answer:
            return Failure(
                f"{addresses(self.client)} answers {status} and is not a schema registry",
                "correct --registry, or schema.registry.url given with -X",
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


def _server(
    registry: RegistryOption = DEFAULT_URL, properties: RegistryProperties = NONE_GIVEN
) -> Registry:
    return Registry(registry, properties)


ServerOptions: TypeAlias = Annotated[Registry, Made(_server)]
"""The registry that a command talks to, of `-r` and `-X`; use as a context manager."""
