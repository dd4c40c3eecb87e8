"""PushTelemetry, v0 (KIP-714).

Behaviour:
- a report of a client's metrics, OpenTelemetry's protobuf in any of Kafka's codecs, is shown at
  `/metrics` with labels that say whose it is;
- more than `telemetry.max.bytes` is TELEMETRY_TOO_LARGE;
- what cannot be understood, or unpacks to more than sixteen times that, is INVALID_RECORD, a
  subscription that has changed since UNKNOWN_SUBSCRIPTION_ID, a report before its time
  THROTTLING_QUOTA_EXCEEDED;
- a client's last report (`terminating`) may come early, and once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.broker import logs
from headrace.broker.dispatch import Answer, Handler
from headrace.broker.handlers.get_telemetry_subscriptions import (
    ACCEPTED,
    find_subscription,
    labels_of,
)
from headrace.broker.telemetry.otlp import points
from headrace.errors import ClientFault, CorruptData, Error
from headrace.records.compression import Codec, decompress
from headrace.types import ZERO_UUID
from headrace.wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.connection import Call
    from headrace.broker.telemetry.store import ClientInstance

_MOST_UNPACKED: Final = 16  # times what is accepted packed: no bomb gets further


def handle(broker: Broker, request: PushTelemetryRequest, call: Call) -> Answer:
    error = Error.NONE
    try:
        if request.client_instance_id == ZERO_UUID:
            raise ClientFault(Error.INVALID_REQUEST, "a report needs the id of its client")
        client = broker.telemetry.client(request.client_instance_id, broker.clock.monotonic_ms())
        try:
            _take(broker, request, call, client)
        except ClientFault as fault:
            client.last_error = fault.error
            raise
    except ClientFault as fault:
        logs.TELEMETRY.info("Refused the metrics of %s: %s", call.client_id, fault)
        error = fault.error
    return PushTelemetryResponse(error_code=error)


def _take(
    broker: Broker, request: PushTelemetryRequest, call: Call, client: ClientInstance
) -> None:
    telemetry = broker.telemetry
    now_ms = broker.clock.monotonic_ms()
    if client.is_terminated:
        raise ClientFault(Error.INVALID_REQUEST, "the client has sent its last report already")
    is_first = (client.last_get_ms or 0) > (client.last_push_ms or -1)
    is_early = not is_first and now_ms - (client.last_push_ms or 0) < client.interval_ms
    if is_early and client.last_push_ms is not None and not request.terminating:
        telemetry.throttled += 1
        raise ClientFault(Error.THROTTLING_QUOTA_EXCEEDED, "the interval is not over")
    client.last_push_ms = now_ms
    client.is_terminated = request.terminating
    subscription = find_subscription(broker, request.client_instance_id, call)
    if request.subscription_id != subscription.id:
        telemetry.unknown_subscriptions += 1
        raise ClientFault(Error.UNKNOWN_SUBSCRIPTION_ID, "the subscription has changed")
    client.subscription_id, client.interval_ms = subscription.id, subscription.interval_ms
    client.labels = labels_of(request.client_instance_id, call)
    if request.compression_type not in (Codec.NONE, *ACCEPTED):
        raise ClientFault(
            Error.UNSUPPORTED_COMPRESSION_TYPE, f"codec {request.compression_type} is not known"
        )
    limit = broker.config.get_int("telemetry.max.bytes")
    if len(request.metrics) > limit:
        raise ClientFault(
            Error.TELEMETRY_TOO_LARGE, f"{len(request.metrics)} bytes; allowed are {limit}"
        )
    if request.metrics:
        try:
            codec = Codec(request.compression_type)
            report = decompress(codec, request.metrics, limit * _MOST_UNPACKED)
            telemetry.report(client, list(points(report)))
        except CorruptData as fault:
            telemetry.failed += 1
            raise ClientFault(Error.INVALID_RECORD, str(fault)) from None


HANDLER = Handler(key=72, versions=(0, 0), request=PushTelemetryRequest, handle=handle)
