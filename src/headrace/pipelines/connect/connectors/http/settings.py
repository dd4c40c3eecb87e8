"""What can be set of the HTTP connectors, under the names of Confluent's."""

from __future__ import annotations

import base64
from typing import Final

from headrace.pipelines.connect.config.definition import Password, not_empty, one_of
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.faults import ConfigException

URL: Final = "http.api.url"
_CODES: Final = "retry.on.status.codes"
MODES: Final = ("SIMPLE_INCREMENTING", "CURSOR_PAGINATION", "CHAINING")


class HttpSettings(Config):
    """What source and sink have in common."""

    url: str = Config.key(URL, doc="The address that is asked.", importance="high", check=not_empty)
    headers_text: str = Config.key(
        "headers",
        default="",
        doc="Headers of each request, Name:value, separated by header.separator.",
    )
    header_separator: str = Config.key(
        "header.separator", default="|", doc="What separates headers.", importance="low"
    )
    auth: str = Config.key(
        "auth.type",
        default="NONE",
        check=one_of("NONE", "BASIC", "BEARER", ignore_case=True),
        doc="How requests are authenticated: not, by connection.user and connection.password, by "
        "bearer.token.",
    )
    user: str = Config.key("connection.user", default="", doc="User for auth.type=BASIC.")
    password: Password = Config.key(
        "connection.password", default=Password(""), doc="Password for auth.type=BASIC."
    )
    token: Password = Config.key(
        "bearer.token", default=Password(""), doc="Token for auth.type=BEARER."
    )
    retry_codes: list[str] = Config.key(
        _CODES,
        default=["408", "429", "500-"],
        doc="Statuses after which a request is tried again: 429, 500-504, 500- for all from 500.",
    )
    max_retries: int = Config.key(
        "max.retries", default=10, at_least=0, doc="How many times a request is tried again."
    )
    retry_backoff_ms: int = Config.key(
        "retry.backoff.ms",
        default=3000,
        at_least=0,
        doc="Milliseconds before a request is tried again.",
    )
    connect_timeout_ms: int = Config.key(
        "http.connect.timeout.ms",
        default=30_000,
        at_least=1,
        doc="How long a connection is waited for, in milliseconds.",
    )
    request_timeout_ms: int = Config.key(
        "http.request.timeout.ms",
        default=30_000,
        at_least=1,
        doc="How long an answer is waited for, in milliseconds.",
    )

    def check(self) -> None:
        """What no single setting can say of itself."""
        if not self.url.startswith(("http://", "https://")):
            raise ConfigException.of(URL, self.url, "http://… or https://… is expected")
        self.headers()
        self.retried()

    def headers(self) -> dict[str, str]:
        """The headers of each request."""
        found: dict[str, str] = {}
        for part in self.headers_text.split(self.header_separator):
            name, colon, value = part.partition(":")
            if part.strip() and not (name.strip() and colon):
                raise ConfigException.of("headers", part, "Name:value is expected")
            if part.strip():
                found[name.strip()] = value.strip()
        if self.auth.upper() == "BASIC":
            pair = f"{self.user}:{self.password.clear}".encode()
            found["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        elif self.auth.upper() == "BEARER":
            found["Authorization"] = f"Bearer {self.token.clear}"
        return found

    def retried(self) -> list[range]:
        """The statuses after which a request is tried again."""
        return [_statuses(text) for text in self.retry_codes if text]


def _statuses(text: str) -> range:
    low, dash, high = text.partition("-")
    if not low.isdigit() or (high and not high.isdigit()):
        raise ConfigException.of(_CODES, text, "429, 500-504 or 500- is expected")
    last = int(high) if high else 599 if dash else int(low)
    return range(int(low), last + 1)


class SinkSettings(HttpSettings):
    """Of the sink."""

    method: str = Config.key(
        "request.method",
        default="POST",
        check=one_of("POST", "PUT", "PATCH", "DELETE", ignore_case=True),
        doc="The method of requests.",
        importance="high",
    )
    body_format: str = Config.key(
        "request.body.format",
        default="string",
        check=one_of("string", "json", ignore_case=True),
        doc="Whether strings are sent as they are, or as strings of JSON; anything else is JSON.",
    )
    batch_max: int = Config.key(
        "batch.max.size",
        default=1,
        at_least=1,
        doc="The most records of one request. ${topic} and ${key} in the address keep records of "
        "different keys apart.",
        importance="high",
    )
    as_array: bool = Config.key(
        "batch.json.as.array",
        default=False,
        doc="Whether the records of a request are one JSON array.",
    )
    prefix: str = Config.key("batch.prefix", default="", doc="What comes before the records.")
    suffix: str = Config.key("batch.suffix", default="", doc="What comes behind the records.")
    separator: str = Config.key("batch.separator", default=",", doc="What separates records.")
    null_values: str = Config.key(
        "behavior.on.null.values",
        default="ignore",
        check=one_of("ignore", "fail", "delete", ignore_case=True),
        doc="What becomes of a record without a value: ignore it, fail, or send DELETE.",
    )


class SourceSettings(HttpSettings):
    """Of the source."""

    topic: str = Config.key(
        "topic.name.pattern",
        default="",
        doc="The topic to write to; kafka.topic is the same.",
        importance="high",
    )
    kafka_topic: str = Config.key("kafka.topic", default="", doc="As topic.name.pattern.")
    method: str = Config.key(
        "http.request.method",
        default="GET",
        check=one_of("GET", "POST", ignore_case=True),
        doc="The method of requests.",
    )
    body: str = Config.key(
        "http.request.body", default="", doc="The body of requests; ${offset} as in the address."
    )
    mode: str = Config.key(
        "http.offset.mode",
        default="SIMPLE_INCREMENTING",
        check=one_of(*MODES, ignore_case=True),
        doc="What ${offset} of the next request is: one more for each record "
        "(SIMPLE_INCREMENTING), what the answer has at http.next.page.json.pointer "
        "(CURSOR_PAGINATION), what the last record has at http.offset.json.pointer (CHAINING).",
        importance="high",
    )
    initial: str = Config.key(
        "http.initial.offset", default="", doc="${offset} of the first request; 0 if it counts."
    )
    data: str = Config.key(
        "http.response.data.json.pointer",
        default="",
        doc="Where the records are in the answer, as a JSON pointer: an array, or one record.",
    )
    offset: str = Config.key(
        "http.offset.json.pointer",
        default="",
        doc="Where a record has the offset of the next request, for CHAINING.",
    )
    page: str = Config.key(
        "http.next.page.json.pointer",
        default="",
        doc="Where the answer has the offset of the next page, for CURSOR_PAGINATION; a whole "
        "address there is asked as it is.",
    )
    interval_ms: int = Config.key(
        "http.timer.interval",
        default=60_000,
        at_least=1,
        doc="Milliseconds between requests once there is nothing new; request.interval.ms is "
        "the same.",
    )
    request_interval_ms: int | None = Config.key(
        "request.interval.ms", default=None, doc="As http.timer.interval.", importance="low"
    )

    def check(self) -> None:
        """What no single setting can say of itself."""
        super().check()
        if not self.target:
            raise ConfigException("topic.name.pattern must be set: the topic to write to")
        needed = {
            "CHAINING": ("http.offset.json.pointer", self.offset),
            "CURSOR_PAGINATION": ("http.next.page.json.pointer", self.page),
        }.get(self.mode.upper())
        if needed and not needed[1]:
            raise ConfigException(f"http.offset.mode={self.mode} needs {needed[0]}")
        for pointer in (self.data, self.offset, self.page):
            if pointer and not pointer.startswith("/"):
                raise ConfigException(f"a JSON pointer begins with /: {pointer}")

    @property
    def target(self) -> str:
        """The topic to write to."""
        return self.topic or self.kafka_topic

    @property
    def rest_s(self) -> float:
        """The pause between requests once there is nothing new."""
        chosen = self.request_interval_ms
        return (self.interval_ms if chosen is None else chosen) / 1000
