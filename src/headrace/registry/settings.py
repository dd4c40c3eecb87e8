"""What a registry is told: Confluent's key names, read once and checked before anything starts.

`schema-registry.properties` works as it is. Keys that mean something to a JVM only are known and
have no effect; unknown ones are reported, because a misspelt key is a setting that silently is
not there; a bad value is a `ConfigError` that names the key, the value and what is allowed.
The module opens no file and no socket.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from headrace.client.settings import ClientSettings, client_settings
from headrace.errors import ConfigError
from headrace.http.listeners import Listener
from headrace.http.settings import (
    COUNT,
    MILLISECONDS,
    READERS,
    WITHOUT_EFFECT,
    HttpSettings,
    Reader,
    check,
    choice,
    flag_of,
    name_of,
    number,
)
from headrace.security.users import Role, roles_of

LEVELS: Final = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)
MEDIA_TYPES: Final = (
    "application/vnd.schemaregistry.v1+json",
    "application/vnd.schemaregistry+json",
    "application/json",
)
_STORE_PREFIX: Final = "kafkastore."


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings(HttpSettings):
    """Every setting with its default."""

    kafka: ClientSettings
    listeners: tuple[Listener, ...] = (Listener("http", "0.0.0.0", 8081),)
    inter_instance_protocol: str = "http"
    debug: bool = False
    topic: str = "_schemas"
    keys_topic: str = "_dek_registry_keys"
    topic_replication_factor: int = 3
    topic_skip_validation: bool = False
    init_timeout_ms: int = 60_000
    timeout_ms: int = 10_000
    group_id: str = "schema-registry"
    leader_eligibility: bool = True
    leader_election_sticky: bool = True
    leader_connect_timeout_ms: int = 15_000
    leader_read_timeout_ms: int = 60_000
    session_timeout_ms: int = 6_000
    heartbeat_interval_ms: int = 500
    compatibility_level: str = "BACKWARD"
    mode_mutability: bool = True
    schema_cache_size: int = 1_000
    schema_search_default_limit: int = 1_000
    schema_search_max_limit: int = 1_000
    subject_search_default_limit: int = 20_000
    subject_search_max_limit: int = 20_000
    response_media_type: str = MEDIA_TYPES[0]
    request_max_bytes: int = 12 << 20
    worker_queue_size: int = 64
    authentication_roles: tuple[Role, ...] = tuple(Role)


def registry_settings(
    properties: Mapping[str, str],
) -> tuple[RegistrySettings, tuple[str, ...]]:
    """The settings in these properties, and what should be said about the rest of them."""
    values: dict[str, Any] = {}
    store: dict[str, str] = {}
    warnings = []
    for name, text in properties.items():
        if name in _READERS:
            key, read = _READERS[name]
            values[key] = read(name, str(text).strip())
        elif name == "kafkastore.connection.url":
            warnings.append(
                f"kafkastore.connection.url={text} has no effect: no ZooKeeper is asked, the "
                "election is Kafka's own; brokers are found by kafkastore.bootstrap.servers"
            )
        elif name.startswith(_STORE_PREFIX):
            store[name.removeprefix(_STORE_PREFIX)] = str(text)
        elif name not in _WITHOUT_EFFECT and not name.startswith(_PREFIXES_WITHOUT_EFFECT):
            warnings.append(f"{name} is not a setting of the registry, and has no effect")
    kafka, strange = client_settings({"client.id": "schema-registry", **store})
    warnings += [f"{_STORE_PREFIX}{name} is not a setting, and has no effect" for name in strange]
    settings = RegistrySettings(kafka=kafka, **values)
    _check(settings)
    return settings, tuple(warnings)


def _check(settings: RegistrySettings) -> None:
    check(settings)
    schemes = {listener.scheme for listener in settings.listeners}
    if settings.inter_instance_protocol not in schemes:
        raise ConfigError(
            f"inter.instance.protocol={settings.inter_instance_protocol!r}: listeners has no such "
            f"address, only {', '.join(sorted(schemes))}"
        )
    if settings.heartbeat_interval_ms * 2 > settings.session_timeout_ms:
        raise ConfigError(
            f"leader.heartbeat.interval.ms={settings.heartbeat_interval_ms}: at most half of "
            f"leader.session.timeout.ms={settings.session_timeout_ms} is allowed"
        )


_READERS: Final[Mapping[str, tuple[str, Reader]]] = {
    **READERS,
    "inter.instance.protocol": (
        "inter_instance_protocol",
        choice("http", "https", fold=str.lower),
    ),
    "schema.registry.inter.instance.protocol": (
        "inter_instance_protocol",
        choice("http", "https", fold=str.lower),
    ),
    "debug": ("debug", flag_of),
    "kafkastore.topic": ("topic", name_of),
    "dek.registry.topic": ("keys_topic", name_of),
    "kafkastore.topic.replication.factor": ("topic_replication_factor", number(-1, 32767)),
    "kafkastore.topic.skip.validation": ("topic_skip_validation", flag_of),
    "kafkastore.init.timeout.ms": ("init_timeout_ms", MILLISECONDS),
    "kafkastore.timeout.ms": ("timeout_ms", MILLISECONDS),
    "kafkastore.group.id": ("group_id", name_of),
    "schema.registry.group.id": ("group_id", name_of),
    "leader.eligibility": ("leader_eligibility", flag_of),
    "master.eligibility": ("leader_eligibility", flag_of),
    "leader.election.sticky": ("leader_election_sticky", flag_of),
    "leader.connect.timeout.ms": ("leader_connect_timeout_ms", MILLISECONDS),
    "leader.read.timeout.ms": ("leader_read_timeout_ms", MILLISECONDS),
    "leader.session.timeout.ms": ("session_timeout_ms", MILLISECONDS),
    "leader.heartbeat.interval.ms": ("heartbeat_interval_ms", MILLISECONDS),
    "schema.compatibility.level": ("compatibility_level", choice(*LEVELS)),
    "avro.compatibility.level": ("compatibility_level", choice(*LEVELS)),
    "mode.mutability": ("mode_mutability", flag_of),
    "schema.cache.size": ("schema_cache_size", COUNT),
    "schema.search.default.limit": ("schema_search_default_limit", COUNT),
    "schema.search.max.limit": ("schema_search_max_limit", COUNT),
    "subject.search.default.limit": ("subject_search_default_limit", COUNT),
    "subject.search.max.limit": ("subject_search_max_limit", COUNT),
    "response.mediatype.default": (
        "response_media_type",
        choice(*MEDIA_TYPES, fold=str.lower),
    ),
    "worker.queue.size": ("worker_queue_size", number(1, 100_000)),
    "authentication.roles": ("authentication_roles", roles_of),
}
# Settings of the JVM's registry that have no meaning here.
_WITHOUT_EFFECT: Final = WITHOUT_EFFECT | frozenset(
    {
        "schema.providers",
        "schema.registry.zk.namespace",
    }
)
_PREFIXES_WITHOUT_EFFECT: Final = ("metrics.", "confluent.", "websocket.")
