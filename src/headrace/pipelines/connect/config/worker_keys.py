"""The keys of a worker's properties file, standalone and distributed, as Kafka declares them.

Keys of the Kafka clients and of TLS are not among them: those go on to the clients unread.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from headrace.pipelines.connect.config.definition import (
    REQUIRED,
    Definition,
    Key,
    Kind,
    at_least,
    between,
    distinct,
    one_of,
)
from headrace.pipelines.connect.config.overrides import ALLOWLIST, policy
from headrace.pipelines.connect.config.topic_creation import (
    a_partition_count,
    a_replication_factor,
)
from headrace.pipelines.connect.faults import ConfigException

_MOST: Final = 2**31 - 1
_MACS: Final = ("HmacSHA1", "HmacSHA224", "HmacSHA256", "HmacSHA384", "HmacSHA512")
_PROTOCOLS: Final = ("eager", "compatible", "sessioned")


def _addresses(name: str, value: object) -> None:
    for address in value if isinstance(value, list) else ():
        parts = urlsplit(address)
        try:
            known = parts.scheme in ("http", "https") and parts.port is not None
        except ValueError:
            known = False
        if not known:
            raise ConfigException.of(
                name, address, "Expected http:// or https://, a host (or none) and a port"
            )


def _macs(name: str, value: object) -> None:
    for algorithm in value if isinstance(value, list) else [value]:
        if algorithm not in _MACS:
            raise ConfigException.of(
                name, algorithm, f"the algorithms of this worker are {', '.join(_MACS)}"
            )


def _policy(value: object) -> None:
    policy(str(value), [])


def _converter(side: str, default: object, importance: str) -> tuple[Key, Key]:
    name = f"{side}.converter"
    return (
        Key(
            name,
            Kind.CLASS,
            default,
            f"How {side}s become bytes, unless a connector says.",
            importance,
        ),
        Key(f"{name}.plugin.version", Kind.STRING, None, f"The version of {name}.", "LOW"),
    )


def _runtime(default: str) -> Key:
    return Key(
        "headrace.runtime",
        Kind.STRING,
        default,
        "Where tasks run, unless a connector says: in a `thread` of the worker, in a child "
        "`process` that can die without it, or in tasks of `spark`, which take a JVM.",
        check=one_of("thread", "process", "spark"),
    )


_EVERY: Final = Definition(
    (
        Key(
            "bootstrap.servers",
            Kind.LIST,
            doc="Brokers through which the cluster is found.",
            importance="HIGH",
            check=distinct,
        ),
        *_converter("key", REQUIRED, "HIGH"),
        *_converter("value", REQUIRED, "HIGH"),
        *_converter("header", "org.apache.kafka.connect.storage.SimpleHeaderConverter", "LOW"),
        Key(
            "task.shutdown.graceful.timeout.ms",
            Kind.LONG,
            5_000,
            "How long tasks may take to end.",
            "LOW",
        ),
        Key(
            "offset.flush.interval.ms", Kind.LONG, 60_000, "How often offsets are committed.", "LOW"
        ),
        Key(
            "offset.flush.timeout.ms",
            Kind.LONG,
            5_000,
            "How long a commit of offsets may take.",
            "LOW",
        ),
        Key("plugin.path", Kind.LIST, None, "Folders with connectors in jars.", "LOW"),
        Key(
            "plugin.discovery",
            Kind.STRING,
            "hybrid_warn",
            "How classes in jars are found. All ways find the same here.",
            "LOW",
            one_of("ONLY_SCAN", "SERVICE_LOAD", "HYBRID_WARN", "HYBRID_FAIL", ignore_case=True),
        ),
        Key(
            "config.providers",
            Kind.LIST,
            [],
            "Names of providers of values like ${file:a:b}.",
            "LOW",
            distinct,
        ),
        Key(
            "connector.client.config.override.policy",
            Kind.STRING,
            "All",
            "Which client settings connectors may set: All, None, Principal or Allowlist.",
            check=lambda _, value: _policy(value),
        ),
        Key(
            ALLOWLIST,
            Kind.LIST,
            [],
            "The client settings that Allowlist lets connectors set.",
            "LOW",
        ),
        Key(
            "topic.creation.enable",
            Kind.BOOLEAN,
            True,
            "Whether sources make missing topics.",
            "LOW",
        ),
        Key("topic.tracking.enable", Kind.BOOLEAN, True, "Whether topics in use are noted.", "LOW"),
        Key(
            "topic.tracking.allow.reset",
            Kind.BOOLEAN,
            True,
            "Whether a request may forget them.",
            "LOW",
        ),
        Key(
            "listeners",
            Kind.LIST,
            ["http://:8083"],
            "Where the REST API listens.",
            "LOW",
            _addresses,
        ),
        Key(
            "admin.listeners",
            Kind.LIST,
            None,
            "Where its admin part listens; empty: nowhere.",
            "LOW",
        ),
        Key(
            "rest.advertised.host.name",
            Kind.STRING,
            None,
            "The host that other workers call.",
            "LOW",
        ),
        Key("rest.advertised.port", Kind.INT, None, "The port that other workers call.", "LOW"),
        Key(
            "rest.advertised.listener",
            Kind.STRING,
            None,
            "http or https, for other workers.",
            "LOW",
        ),
        Key("rest.extension.classes", Kind.LIST, [], "Extensions of the REST API in Java.", "LOW"),
        Key(
            "access.control.allow.origin",
            Kind.STRING,
            "",
            "Origins that browsers may call from.",
            "LOW",
        ),
        Key("access.control.allow.methods", Kind.STRING, "", "Methods that they may call.", "LOW"),
        Key(
            "response.http.headers.config", Kind.STRING, "", "Rules for headers of answers.", "LOW"
        ),
        Key(
            "headrace.hosts",
            Kind.INT,
            1,
            "How many processes, or tasks of Spark, share the tasks; those whose "
            "headrace.isolation is `own` come on top.",
            check=at_least(1),
        ),
    )
)

STANDALONE: Final = _EVERY.plus(
    _runtime("thread"),
    Key(
        "offset.storage.file.filename",
        Kind.STRING,
        doc="The file that keeps the offsets of sources.",
        importance="HIGH",
    ),
)


def _state_topic(kind: str, partitions: int | None) -> tuple[Key, ...]:
    what = {"config": "settings", "offset": "offsets of sources", "status": "what runs where"}[kind]
    name = Key(
        f"{kind}.storage.topic", Kind.STRING, doc=f"The topic that keeps {what}.", importance="HIGH"
    )
    replicas = Key(
        f"{kind}.storage.replication.factor",
        Kind.SHORT,
        3,
        "Its replication factor, if it has to be made.",
        "LOW",
        a_replication_factor,
    )
    if partitions is None:
        return name, replicas
    count = Key(
        f"{kind}.storage.partitions",
        Kind.INT,
        partitions,
        "Its partitions, if it has to be made.",
        "LOW",
        a_partition_count,
    )
    return name, count, replicas


# A host process takes a seventh of the memory of a Spark session with one, and starts within two
# seconds: Spark is for whoever asks for it.
DISTRIBUTED: Final = _EVERY.plus(
    _runtime("process"),
    Key(
        "group.id", Kind.STRING, doc="The group that makes workers one cluster.", importance="HIGH"
    ),
    Key(
        "session.timeout.ms",
        Kind.INT,
        10_000,
        "A worker without a heartbeat for this long is removed.",
        "HIGH",
    ),
    Key("rebalance.timeout.ms", Kind.INT, 60_000, "How long workers may take to join.", "HIGH"),
    Key(
        "heartbeat.interval.ms",
        Kind.INT,
        3_000,
        "How often a worker shows that it is there.",
        "HIGH",
    ),
    Key(
        "exactly.once.source.support",
        Kind.STRING,
        "disabled",
        "Whether sources write in transactions. A cluster goes from `disabled` over `preparing` to "
        "`enabled`, each on all workers before the next.",
        "HIGH",
        one_of("DISABLED", "ENABLED", "PREPARING", ignore_case=True),
    ),
    Key(
        "worker.sync.timeout.ms", Kind.INT, 3_000, "How long a worker may lag behind the settings."
    ),
    Key("worker.unsync.backoff.ms", Kind.INT, 300_000, "How long it leaves the group if it does."),
    *_state_topic("offset", 25),
    *_state_topic("config", None),
    *_state_topic("status", 5),
    Key(
        "connect.protocol",
        Kind.STRING,
        "sessioned",
        "The newest group protocol that the worker offers: eager, compatible or sessioned.",
        "LOW",
        one_of(*_PROTOCOLS),
    ),
    Key(
        "scheduled.rebalance.max.delay.ms",
        Kind.INT,
        300_000,
        "How long the work of a lost worker waits for it.",
        "LOW",
        between(0, _MOST),
    ),
    Key(
        "inter.worker.key.ttl.ms",
        Kind.INT,
        3_600_000,
        "How long workers sign with one key; 0: for ever.",
        "LOW",
        between(0, _MOST),
    ),
    Key(
        "inter.worker.key.generation.algorithm",
        Kind.STRING,
        "HmacSHA256",
        "What the key is for.",
        "LOW",
        _macs,
    ),
    Key(
        "inter.worker.key.size", Kind.INT, None, "The bits of the key; else the algorithm's.", "LOW"
    ),
    Key(
        "inter.worker.signature.algorithm",
        Kind.STRING,
        "HmacSHA256",
        "How calls between workers are signed.",
        "LOW",
        _macs,
    ),
    Key(
        "inter.worker.verification.algorithms",
        Kind.LIST,
        ["HmacSHA256"],
        "Signatures that are accepted.",
        "LOW",
        _macs,
    ),
)
