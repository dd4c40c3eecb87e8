"""Settings of librdkafka's clients, from those of the proxy; opens no client.

Java's names are taken where librdkafka has the same thing under another name. The lists hold what
an operator may set with `producer.` and `consumer.` in front: what the proxy needs for its own
promises (order, offsets, call-backs) is not among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace.client.settings import ClientSettings
from headrace.librdkafka.settings import for_librdkafka

PRODUCER_NAMES: Final = frozenset(
    {
        "acks",
        "batch.num.messages",
        "batch.size",
        "buffer.memory",
        "compression.level",
        "compression.type",
        "delivery.timeout.ms",
        "linger.ms",
        "max.request.size",
        "message.max.bytes",
        "partitioner",
        "queue.buffering.max.kbytes",
        "queue.buffering.max.messages",
        "request.timeout.ms",
        "retries",
        "retry.backoff.ms",
    }
)
CONSUMER_NAMES: Final = frozenset(
    {
        "auto.commit.interval.ms",
        "auto.offset.reset",
        "check.crcs",
        "client.rack",
        "enable.auto.commit",
        "fetch.max.bytes",
        "fetch.max.wait.ms",
        "fetch.wait.max.ms",
        "group.protocol",
        "heartbeat.interval.ms",
        "isolation.level",
        "max.partition.fetch.bytes",
        "max.poll.interval.ms",
        "partition.assignment.strategy",
        "session.timeout.ms",
    }
)


def connection_properties(settings: ClientSettings) -> dict[str, Any]:
    """How any client of librdkafka reaches the cluster."""
    servers = ",".join(
        f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        for host, port in settings.bootstrap_servers
    )
    properties: dict[str, Any] = {
        "bootstrap.servers": servers,
        "client.id": settings.client_id,
        "security.protocol": settings.security_protocol,
        "log_level": 2,
    }
    if settings.has_tls:
        properties["enable.ssl.certificate.verification"] = settings.ssl_verify_certificate
        properties["ssl.endpoint.identification.algorithm"] = (
            "https" if settings.ssl_verify_hostname else "none"
        )
        stores = {
            "ssl.ca.location": settings.ssl_ca_location,
            "ssl.certificate.location": settings.ssl_certificate_location,
            "ssl.key.location": settings.ssl_key_location,
            "ssl.key.password": settings.ssl_key_password,
        }
        properties |= {name: value for name, value in stores.items() if value is not None}
    if settings.has_sasl:
        properties["sasl.mechanisms"] = settings.sasl_mechanism
        properties["sasl.username"] = settings.sasl_username
        properties["sasl.password"] = settings.sasl_password
    return properties


def producer_properties(settings: ClientSettings, chosen: Mapping[str, str]) -> dict[str, Any]:
    """One producer for all requests: order is kept, memory is bounded."""
    return {
        **connection_properties(settings),
        "partitioner": "murmur2_random",
        # Requests that come together travel together: less work here and in the broker.
        "linger.ms": 1,
        "delivery.timeout.ms": 30_000,
        "queue.buffering.max.kbytes": 64 << 10,
        # A topic that does not exist is told after this time instead of half a minute.
        "topic.metadata.propagation.max.ms": 2_000,
        **for_librdkafka(chosen),
        "enable.idempotence": True,
    }


def consumer_properties(settings: ClientSettings, chosen: Mapping[str, str]) -> dict[str, Any]:
    """A consumer of one instance; offsets are stored when records are handed out."""
    return {
        **connection_properties(settings),
        "auto.offset.reset": "latest",
        "enable.auto.commit": True,
        "queued.max.messages.kbytes": 4096,
        # By default a full queue pauses fetching for a whole second.
        "fetch.queue.backoff.ms": 10,
        **for_librdkafka(chosen),
        "enable.auto.offset.store": False,
    }
