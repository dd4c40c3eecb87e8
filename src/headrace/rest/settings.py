"""What a proxy is told: Confluent's key names, read once and checked before anything starts.

`kafka-rest.properties` works as it is. Keys that only mean something to a JVM are known and have
no effect; unknown ones are reported; a bad value is a `ConfigError` that names the key, the value
and what is allowed. The module opens no file and no socket.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from headrace.client.registry.settings import RegistrySettings, registry_settings
from headrace.client.settings import ClientSettings, client_settings
from headrace.http.listeners import Listener, parse_listener
from headrace.http.settings import (
    MILLISECONDS,
    READERS,
    WITHOUT_EFFECT,
    HttpSettings,
    Reader,
    check,
    choice,
    flag_of,
    number,
    text_of,
    words_of,
)
from headrace.rest.librdkafka import CONSUMER_NAMES, PRODUCER_NAMES
from headrace.security.users import Role, roles_of

DEFAULT_REGISTRY: Final = "http://localhost:8081"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestSettings(HttpSettings):
    """Every setting with its default."""

    kafka: ClientSettings
    registry: RegistrySettings
    producer: Mapping[str, str] = field(default_factory=dict)
    consumer: Mapping[str, str] = field(default_factory=dict)
    listeners: tuple[Listener, ...] = (Listener("http", "0.0.0.0", 8082),)
    id: str = ""
    consumer_request_timeout_ms: int = 1000
    consumer_request_max_bytes: int = 64 << 20
    consumer_instance_timeout_ms: int = 300_000
    consumer_instances_max: int = 200
    consumer_threads: int = 50
    fetch_min_bytes: int = -1
    peers: tuple[str, ...] = ()
    peer_discovery: str = "GROUP"
    peer_group_id: str = "kafka-rest"
    request_max_bytes: int = 16 << 20
    connections_max: int = 1000
    rate_limit_enable: bool = False
    rate_limit_permits_per_sec: int = 50
    rate_limit_burst: int = 100
    authentication_roles: tuple[Role, ...] = tuple(Role)

    def client_settings(self) -> ClientSettings:
        """How our own raw client reaches the cluster."""
        return self.kafka


def rest_settings(properties: Mapping[str, str]) -> tuple[RestSettings, tuple[str, ...]]:
    """The settings in these properties, and the names among them that are not known."""
    values: dict[str, Any] = {}
    rest: dict[str, dict[str, str]] = {"client.": {}, "producer.": {}, "consumer.": {}}
    registry = {"schema.registry.url": DEFAULT_REGISTRY}
    unknown = []
    for name, text in properties.items():
        if name in _READERS:
            key, read = _READERS[name]
            values[key] = read(name, str(text).strip())
        elif name == "bootstrap.servers":
            rest["client."][name] = str(text)
        elif name.startswith("schema.registry."):
            registry[name] = str(text)
        elif name not in _WITHOUT_EFFECT and not name.startswith(_PREFIXES_WITHOUT_EFFECT):
            prefix = name[: name.find(".") + 1]
            if prefix in rest:
                rest[prefix][name.removeprefix(prefix)] = str(text).strip()
            else:
                unknown.append(name)
    kafka, strange = client_settings({"client.id": "kafka-rest", **rest["client."]})
    unknown += [f"client.{name}" for name in strange]
    for prefix, known in (("producer.", PRODUCER_NAMES), ("consumer.", CONSUMER_NAMES)):
        unknown += [prefix + name for name in rest[prefix] if name not in known]
        values[prefix[:-1]] = {name: text for name, text in rest[prefix].items() if name in known}
    settings = RestSettings(kafka=kafka, registry=registry_settings(registry), **values)
    check(settings)
    return settings, tuple(unknown)


def _peers(name: str, text: str) -> tuple[str, ...]:
    return tuple(parse_listener(name, each).url for each in words_of(name, text))


_FEW: Final = number(1, 1_000_000)

_READERS: Final[Mapping[str, tuple[str, Reader]]] = {
    **READERS,
    "id": ("id", text_of),
    "consumer.request.timeout.ms": ("consumer_request_timeout_ms", MILLISECONDS),
    "consumer.request.max.bytes": ("consumer_request_max_bytes", number(1, 1 << 30)),
    "consumer.instance.timeout.ms": ("consumer_instance_timeout_ms", MILLISECONDS),
    "consumer.instances.max": ("consumer_instances_max", number(0, 100_000)),
    "consumer.threads": ("consumer_threads", number(1, 1000)),
    "fetch.min.bytes": ("fetch_min_bytes", number(-1, 0x7FFFFFFF)),
    "peers": ("peers", _peers),
    "peer.discovery": ("peer_discovery", choice("GROUP", "NONE")),
    "peer.group.id": ("peer_group_id", text_of),
    "connections.max": ("connections_max", _FEW),
    "rate.limit.enable": ("rate_limit_enable", flag_of),
    "rate.limit.permits.per.sec": ("rate_limit_permits_per_sec", _FEW),
    "rate.limit.burst": ("rate_limit_burst", _FEW),
    "authentication.roles": ("authentication_roles", roles_of),
}
# Settings of the JVM's proxy that have no meaning here.
_WITHOUT_EFFECT: Final = WITHOUT_EFFECT | frozenset(
    {
        "advertised.listeners",
        "consumer.iterator.backoff.ms",
        "consumer.iterator.timeout.ms",
        "debug",
        "producer.threads",
        "response.mediatype.default",
        "zookeeper.connect",
    }
)
_PREFIXES_WITHOUT_EFFECT: Final = ("metrics.", "confluent.", "simpleconsumer.", "websocket.")
