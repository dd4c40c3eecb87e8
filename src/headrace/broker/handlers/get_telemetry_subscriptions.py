"""GetTelemetrySubscriptions, v0 (KIP-714).

Behaviour: tells a client which metrics to push, how often, and how large a report may be, by the
subscriptions that fit it; a client without an instance id is given one. Who asks again before its
interval is over is THROTTLING_QUOTA_EXCEEDED, unless its last report was refused. Sums are wanted
from the client's start, not since its last report: a report that is lost loses nothing then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.broker.net.handler import Answer, Handler
from headrace.broker.telemetry.subscriptions import Subscription, subscription_of
from headrace.cluster.config_owners import OwnerKind
from headrace.errors import Error
from headrace.records.compression import Codec
from headrace.types import ZERO_UUID, uuid_to_text
from headrace.wire.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)

if TYPE_CHECKING:
    from uuid import UUID

    from headrace.broker.machine import Machine
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.telemetry.store import TelemetryStore

ACCEPTED: Final = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)
# After these a client must learn its subscription anew, and need not wait for that.
_ASK_AGAIN: Final = (Error.UNKNOWN_SUBSCRIPTION_ID, Error.UNSUPPORTED_COMPRESSION_TYPE)


def handle(
    metadata: Metadata,
    telemetry: TelemetryStore,
    machine: Machine,
    request: GetTelemetrySubscriptionsRequest,
    call: Call,
) -> Answer[GetTelemetrySubscriptionsResponse]:
    instance_id = request.client_instance_id
    if instance_id == ZERO_UUID:
        instance_id = machine.new_id()
    subscription = find_subscription(metadata, instance_id, call)
    now_ms = machine.clock.monotonic_ms()
    client = telemetry.client(instance_id, now_ms)
    asked_ms = max(client.last_get_ms or 0, client.last_push_ms or 0)
    is_early = client.last_get_ms is not None and now_ms - asked_ms < client.interval_ms
    response = GetTelemetrySubscriptionsResponse(
        error_code=Error.NONE,
        client_instance_id=instance_id,
        subscription_id=subscription.id,
        accepted_compression_types=list(ACCEPTED),
        push_interval_ms=subscription.interval_ms,
        telemetry_max_bytes=metadata.settings.config.get_int("telemetry.max.bytes"),
        delta_temporality=False,
        requested_metrics=list(subscription.metrics),
    )
    if is_early and client.last_error not in _ASK_AGAIN:
        telemetry.throttled += 1
        response.error_code = Error.THROTTLING_QUOTA_EXCEEDED
        return response
    client.last_get_ms = now_ms
    client.last_error = Error.NONE
    client.is_terminated = False
    client.subscription_id, client.interval_ms = subscription.id, subscription.interval_ms
    client.labels = labels_of(instance_id, call)
    return response


def find_subscription(metadata: Metadata, instance_id: UUID, call: Call) -> Subscription:
    """What this client should push now."""
    names = ("client_id", "client_instance_id", "client_software_name", "client_software_version")
    labels = labels_of(instance_id, call)
    about = dict(zip((*names, "client_source_address"), labels, strict=True))
    about["client_source_port"] = str(call.connection.peer_port)
    return subscription_of(instance_id, about, metadata.image.configs[OwnerKind.CLIENT_METRICS])


def labels_of(instance_id: UUID, call: Call) -> tuple[str, ...]:
    """Who a client is, in the order of `CLIENT_LABELS`."""
    name, _, version = call.connection.software.partition(" ")
    return (
        call.client_id or "",
        uuid_to_text(instance_id),
        name,
        version,
        call.connection.peer_host,
    )


HANDLER = Handler(request=GetTelemetrySubscriptionsRequest, handle=handle)
