"""What a client may say when it creates a consumer instance, and what that means.

Values come as strings, as version 1 has them, or as JSON's own types. Anything that is not allowed
is error 42204 with the name of the option.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from headrace.rest import errors
from headrace.rest.media_types import EmbeddedFormat

if TYPE_CHECKING:
    from headrace.rest.settings import RestSettings

MAX_REQUEST_TIMEOUT_MS: Final = 60_000
"""A read holds a thread for so long at most."""
MAX_NAME_LENGTH: Final = 255
_RESETS: Final = {
    "smallest": "earliest",
    "earliest": "earliest",
    "largest": "latest",
    "latest": "latest",
    "none": "error",
}
_V1_FORMATS: Final = (EmbeddedFormat.BINARY, EmbeddedFormat.JSON, EmbeddedFormat.AVRO)


class CreateConsumerRequest(
    msgspec.Struct,
    forbid_unknown_fields=True,
    rename={
        "auto_offset_reset": "auto.offset.reset",
        "auto_commit_enable": "auto.commit.enable",
        "enable_auto_commit": "enable.auto.commit",
        "fetch_min_bytes": "fetch.min.bytes",
        "consumer_request_timeout_ms": "consumer.request.timeout.ms",
    },
):
    """The body of a creation; version 1 also knows `id`."""

    id: str | None = None
    name: str | None = None
    format: str | None = None
    auto_offset_reset: str | None = None
    auto_commit_enable: str | bool | None = None
    enable_auto_commit: str | bool | None = None
    fetch_min_bytes: str | int | None = None
    consumer_request_timeout_ms: str | int | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """A checked request."""

    version: int
    name: str | None
    format: EmbeddedFormat
    request_timeout_ms: int
    fetch_min_bytes: int
    properties: dict[str, Any]


def read_options(asked: CreateConsumerRequest, version: int, settings: RestSettings) -> Options:
    """The options of a request for a consumer of this version of the API."""
    name = asked.name if asked.id is None else asked.id
    if name is not None and (not 0 < len(name) <= MAX_NAME_LENGTH or "/" in name):
        raise errors.invalid_consumer_config(
            f"name {name!r}: 1 to {MAX_NAME_LENGTH} signs without a slash are allowed"
        )
    properties: dict[str, Any] = {}
    if asked.auto_offset_reset is not None:
        reset = _RESETS.get(asked.auto_offset_reset.lower())
        if reset is None:
            raise errors.invalid_consumer_config(
                f"Invalid value {asked.auto_offset_reset} for configuration auto.offset.reset: "
                f"allowed are {', '.join(_RESETS)}"
            )
        properties["auto.offset.reset"] = reset
    commit = asked.auto_commit_enable
    commit = asked.enable_auto_commit if commit is None else commit
    if commit is not None:
        properties["enable.auto.commit"] = _flag("auto.commit.enable", commit)
    elif version == 1:
        properties["enable.auto.commit"] = False
    return Options(
        version,
        name,
        _format(asked.format, version),
        _number(
            "consumer.request.timeout.ms",
            asked.consumer_request_timeout_ms,
            min(settings.consumer_request_timeout_ms, MAX_REQUEST_TIMEOUT_MS),
            range(1, MAX_REQUEST_TIMEOUT_MS + 1),
        ),
        _number(
            "fetch.min.bytes", asked.fetch_min_bytes, settings.fetch_min_bytes, range(-1, 1 << 27)
        ),
        properties,
    )


def _format(text: str | None, version: int) -> EmbeddedFormat:
    allowed = _V1_FORMATS if version == 1 else tuple(EmbeddedFormat)
    name = (text or "binary").lower()
    if name not in allowed:
        raise errors.invalid_consumer_config(
            f"Invalid format type {text}: allowed are {', '.join(allowed)}"
        )
    return EmbeddedFormat(name)


def _flag(name: str, value: str | bool) -> bool:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise errors.invalid_consumer_config(
            f"Invalid value {value} for configuration {name}: allowed are true and false"
        )
    return text == "true"


def _number(name: str, value: str | int | None, default: int, allowed: range) -> int:
    if value is None:
        return default
    try:
        number = int(value)
    except ValueError:
        number = allowed.start - 1
    if number not in allowed:
        raise errors.invalid_consumer_config(
            f"Invalid value {value} for configuration {name}: "
            f"allowed are {allowed.start} to {allowed.stop - 1}"
        )
    return number
