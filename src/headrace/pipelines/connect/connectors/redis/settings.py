"""What can be set of the Redis connectors, under the names of three families."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headrace.pipelines.connect.config.definition import Password, not_empty
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.kcql import Statement, statements
from headrace.pipelines.connect.faults import ConfigException

KCQL: Final = "connect.redis.kcql"
_HOSTS: Final = "redis.hosts"
_PORT: Final = 6379
STORES: Final = ("CACHE", "LIST", "STREAM")


@dataclass(frozen=True, slots=True)
class Access:
    """How a server is reached, and as whom."""

    host: str
    port: int
    database: int
    username: str | None
    password: Password | None
    tls: bool
    timeout_s: float


def _address(key: str, text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon:
        return text, _PORT
    if not host or not port.isdigit():
        raise ConfigException.of(key, text, f"host:{_PORT} is expected")
    return host, int(port)


class RedisSettings(Config):
    """How the server is reached, as the connectors with redis.hosts name it."""

    hosts: list[str] = Config.key(
        _HOSTS,
        default=[f"localhost:{_PORT}"],
        doc="Address of the server, host:6379. Of several the first one counts: clusters are not "
        "supported.",
        importance="high",
    )
    database: int = Config.key(
        "redis.database", default=0, at_least=0, doc="Number of the database."
    )
    username: str | None = Config.key("redis.username", default=None, doc="User of the server.")
    password: Password | None = Config.key(
        "redis.password", default=None, doc="Password of the user.", importance="high"
    )
    tls: bool = Config.key("redis.ssl.enabled", default=False, doc="Whether TLS is used.")
    timeout_ms: int = Config.key(
        "redis.operation.timeout.ms",
        default=10_000,
        at_least=1,
        doc="How long an answer is waited for, in milliseconds.",
    )

    def access(self) -> Access:
        """How the server is reached."""
        host, port = _address(_HOSTS, self.hosts[0] if self.hosts else "")
        return Access(
            host,
            port,
            self.database,
            self.username,
            self.password,
            self.tls,
            self.timeout_ms / 1000,
        )


class StreamSettings(RedisSettings):
    """Of the source."""

    streams: list[str] = Config.key(
        "redis.stream.name", doc="The streams that are read.", importance="high"
    )
    topic: str = Config.key(
        "topic",
        default="${stream}",
        doc="The topic to write to; ${stream} in it stands for the stream's name.",
        check=not_empty,
    )
    start: str = Config.key(
        "redis.stream.offset",
        default="0-0",
        doc="The id behind which a stream is read from at first; $ for what comes from now on.",
    )
    rows: int = Config.key(
        "batch.size", default=500, at_least=1, doc="The most entries that are read at once."
    )


class LensesSettings(Config):
    """Of the sink, as Lenses names it."""

    host: str = Config.key(
        "connect.redis.host", doc="Name of the server.", importance="high", check=not_empty
    )
    port: int = Config.key(
        "connect.redis.port", default=_PORT, at_least=1, at_most=65_535, doc="Port of the server."
    )
    password: Password | None = Config.key(
        "connect.redis.password", default=None, doc="Password of the server.", importance="high"
    )
    tls: bool = Config.key("connect.redis.ssl.enabled", default=False, doc="Whether TLS is used.")
    kcql: str = Config.key(
        KCQL,
        doc="What goes where: INSERT INTO prefix SELECT * FROM topic PK id [TTL=seconds] sets "
        "keys; STOREAS LIST and STOREAS STREAM append to a list or a stream.",
        importance="high",
        check=not_empty,
    )
    timeout_ms: int = Config.key(
        "redis.operation.timeout.ms",
        default=10_000,
        at_least=1,
        doc="How long an answer is waited for, in milliseconds.",
    )

    def access(self) -> Access:
        """How the server is reached."""
        return Access(
            self.host, self.port, 0, None, self.password, self.tls, self.timeout_ms / 1000
        )

    def targets(self) -> dict[str, Statement]:
        """The statement of each topic."""
        found = statements(KCQL, self.kcql, ("STOREAS", "TTL"))
        for each in found:
            store, ttl = each.options.get("STOREAS", "CACHE").upper(), each.options.get("TTL")
            if store not in STORES:
                raise ConfigException.of(KCQL, each.text, f"STOREAS is {', '.join(STORES)}")
            if ttl is not None and (not ttl.isdigit() or not int(ttl) or store != "CACHE"):
                raise ConfigException.of(KCQL, each.text, "TTL is a number of seconds, of keys")
            if store != "CACHE" and not each.target:
                raise ConfigException.of(KCQL, each.text, "INSERT INTO key is missing")
        return {each.source: each for each in found}
