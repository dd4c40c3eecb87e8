"""What can be set of the MQTT connectors, under Lenses' names and under Confluent's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from headrace.pipelines.connect.config.definition import Password, not_empty
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.kcql import Statement, statements
from headrace.pipelines.connect.connectors.mqtt.filters import check_filter, check_topic
from headrace.pipelines.connect.faults import ConfigException

KCQL: Final = "connect.mqtt.kcql"
_HOSTS: Final = "connect.mqtt.hosts"
_PORTS: Final = {"tcp": 1883, "mqtt": 1883, "ssl": 8883, "mqtts": 8883}
_SECURE: Final = ("ssl", "mqtts")


@dataclass(frozen=True, slots=True)
class Host:
    """One address of a server."""

    name: str
    port: int
    tls: bool


@dataclass(frozen=True, slots=True)
class Access:
    """How a server is reached, and as whom."""

    hosts: tuple[Host, ...]
    client_id: str
    username: str | None
    password: Password | None
    clean: bool
    timeout_s: float
    keep_alive_s: int
    ca: str | None = None
    cert: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """Messages whose topic matches `filter` go to a Kafka topic; `statement` said so."""

    filter: str
    topic: str
    converter: str = "bytes"
    keys: tuple[str, ...] = ()
    statement: str = ""


def hosts_of(key: str, texts: list[str]) -> tuple[Host, ...]:
    """The addresses of a list, `tcp://host:1883` or `ssl://host:8883`."""
    return tuple(_host(key, text) for text in texts if text)


def _host(key: str, text: str) -> Host:
    parts = urlsplit(text if "://" in text else f"tcp://{text}")
    try:
        port = parts.port
    except ValueError:
        port = 0
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise ConfigException.of(key, text, "tcp://host:1883 or ssl://host:8883 is expected")
    return Host(parts.hostname, port or _PORTS[parts.scheme], parts.scheme in _SECURE)


class MqttSettings(Config):
    """What source and sink have in common, as Lenses names it."""

    hosts: list[str] = Config.key(
        _HOSTS,
        doc="Addresses of the server, tried in turn: tcp://host:1883, ssl://host:8883.",
        importance="high",
    )
    kcql: str = Config.key(
        KCQL,
        doc="What goes where: INSERT INTO topic SELECT * FROM filter; several with semicolons.",
        importance="high",
        check=not_empty,
    )
    quality: int = Config.key(
        "connect.mqtt.service.quality",
        default=1,
        at_least=0,
        at_most=2,
        doc="Quality of service: 0 may lose messages, 1 may repeat them, 2 does neither between "
        "this client and the server.",
    )
    client_id: str = Config.key(
        "connect.mqtt.client.id",
        default="",
        doc="The id under which the server keeps the session; the connector's name by default.",
    )
    username: str | None = Config.key(
        "connect.mqtt.username", default=None, doc="User of the server.", importance="high"
    )
    password: Password | None = Config.key(
        "connect.mqtt.password", default=None, doc="Password of the user.", importance="high"
    )
    clean: bool = Config.key(
        "connect.mqtt.clean",
        default=True,
        doc="Whether the server forgets the session with the connection. Set it to false to get "
        "what is published while the connector is away.",
    )
    connection_clean: bool | None = Config.key(
        "connect.mqtt.connection.clean",
        default=None,
        doc="As connect.mqtt.clean.",
        importance="low",
    )
    timeout_ms: int = Config.key(
        "connect.mqtt.timeout",
        default=3000,
        at_least=1,
        doc="How long a connection, and an acknowledgement, is waited for, in milliseconds.",
    )
    connection_timeout_ms: int | None = Config.key(
        "connect.mqtt.connection.timeout",
        default=None,
        doc="As connect.mqtt.timeout.",
        importance="low",
    )
    keep_alive_ms: int = Config.key(
        "connect.mqtt.keep.alive",
        default=5000,
        at_least=1,
        doc="The longest silence before the connection is checked, in milliseconds.",
    )
    connection_keep_alive_ms: int | None = Config.key(
        "connect.mqtt.connection.keep.alive",
        default=None,
        doc="As connect.mqtt.keep.alive.",
        importance="low",
    )
    ca: str | None = Config.key(
        "connect.mqtt.ssl.ca.cert", default=None, doc="File of the server's certificate authority."
    )
    cert: str | None = Config.key(
        "connect.mqtt.ssl.cert", default=None, doc="File of the client's certificate."
    )
    key_file: str | None = Config.key(
        "connect.mqtt.ssl.key", default=None, doc="File of the client's key."
    )

    def access(self, client_id: str) -> Access:
        """How the server is reached, under the id that is set or else under this one."""
        clean, timeout_ms, keep_ms = (
            self.connection_clean,
            self.connection_timeout_ms,
            self.connection_keep_alive_ms,
        )
        return Access(
            hosts_of(_HOSTS, self.hosts),
            self.client_id or client_id,
            self.username,
            self.password,
            self.clean if clean is None else clean,
            (self.timeout_ms if timeout_ms is None else timeout_ms) / 1000,
            max(1, (self.keep_alive_ms if keep_ms is None else keep_ms) // 1000),
            self.ca,
            self.cert,
            self.key_file,
        )


class SourceSettings(MqttSettings):
    """Of the source."""

    throw_on_error: bool = Config.key(
        "connect.mqtt.converter.throw.on.error",
        default=False,
        doc="Whether a message that cannot be converted ends the task; otherwise it is dropped "
        "with a warning.",
    )

    def routes(self) -> list[Route]:
        """What goes where."""
        return [_route(each) for each in statements(KCQL, self.kcql, ("WITHCONVERTER", "WITHTYPE"))]


_CONVERTERS: Final = {
    "BytesConverter": "bytes",
    "StringConverter": "string",
    "JsonSimpleConverter": "json",
    "JsonPassThroughConverter": "string",
}


def _route(statement: Statement) -> Route:
    if not statement.target:
        raise ConfigException.of(KCQL, statement.text, "INSERT INTO topic is missing")
    check_filter(KCQL, statement.source)
    named = statement.options.get("WITHCONVERTER", "BytesConverter").rpartition(".")[2]
    if named not in _CONVERTERS:
        offered = ", ".join(_CONVERTERS)
        raise ConfigException.of(KCQL, statement.text, f"converters are {offered}")
    converter = _CONVERTERS[named]
    if statement.fields or (statement.keys and converter != "json"):
        raise ConfigException.of(
            KCQL,
            statement.text,
            "a source selects * and takes fields for its key from JSON only: add "
            "WITHCONVERTER=`JsonSimpleConverter`, and select fields by a transform",
        )
    return Route(statement.source, statement.target, converter, statement.keys, statement.text)


class SinkSettings(MqttSettings):
    """Of the sink."""

    retained: bool = Config.key(
        "connect.mqtt.retained.messages",
        default=False,
        doc="Whether the server keeps the last message of each topic for later subscribers.",
    )

    def targets(self) -> dict[str, Statement]:
        """The statement of each Kafka topic."""
        found = statements(KCQL, self.kcql, ("WITHTARGET", "WITHCONVERTER"))
        for each in found:
            if "WITHTARGET" not in each.options:
                check_topic(KCQL, each.target)
        return {each.source: each for each in found}


class ConfluentSettings(Config):
    """Of the source, as Confluent names it."""

    uri: list[str] = Config.key(
        "mqtt.server.uri", doc="Addresses of the server: tcp://host:1883.", importance="high"
    )
    filters: list[str] = Config.key(
        "mqtt.topics", doc="The filters that are subscribed to.", importance="high"
    )
    topic: str = Config.key(
        "kafka.topic", default="mqtt", doc="The topic to write to.", importance="high"
    )
    quality: int = Config.key(
        "mqtt.qos", default=0, at_least=0, at_most=2, doc="Quality of service."
    )
    client_id: str = Config.key(
        "mqtt.client.id", default="", doc="The id of the session; the connector's name by default."
    )
    username: str | None = Config.key(
        "mqtt.username", default=None, doc="User of the server.", importance="high"
    )
    password: Password | None = Config.key(
        "mqtt.password", default=None, doc="Password of the user.", importance="high"
    )
    clean: bool = Config.key(
        "mqtt.clean.session.enabled",
        default=True,
        doc="Whether the server forgets the session with the connection.",
    )
    timeout_s: int = Config.key(
        "mqtt.connect.timeout.seconds", default=30, at_least=1, doc="Seconds for a connection."
    )
    keep_alive_s: int = Config.key(
        "mqtt.keepalive.interval.seconds",
        default=60,
        at_least=1,
        doc="Seconds of silence before the connection is checked.",
    )

    def access(self, client_id: str) -> Access:
        """How the server is reached, under the id that is set or else under this one."""
        return Access(
            hosts_of("mqtt.server.uri", self.uri),
            self.client_id or client_id,
            self.username,
            self.password,
            self.clean,
            float(self.timeout_s),
            self.keep_alive_s,
        )

    def routes(self) -> list[Route]:
        """What goes where."""
        for each in self.filters:
            check_filter("mqtt.topics", each)
        return [Route(each, self.topic) for each in self.filters]
