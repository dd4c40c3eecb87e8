"""PushTelemetry, v0 (KIP-714).

Behaviour:
- a report of a client's metrics, OpenTelemetry's protobuf in any of Kafka's codecs, is shown at
  `/metrics` with labels that say whose it is; a compressed or large one is read on a
  thread, see `headrace.broker.net.inspections`;
- more than `telemetry.max.bytes` is TELEMETRY_TOO_LARGE;
- what cannot be understood, or unpacks to more than sixteen times that, is INVALID_RECORD, a
  subscription that has changed since UNKNOWN_SUBSCRIPTION_ID, a report before its time
  THROTTLING_QUOTA_EXCEEDED;
- a client's last report (`terminating`) may come early, and once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.broker.handlers.get_telemetry_subscriptions import (
    ACCEPTED,
    find_subscription,
    labels_of,
)
from headrace.broker.net.handler import Answer, Handler
from headrace.broker.telemetry.otlp import Point, points
from headrace.broker.watching import logs
from headrace.errors import ClientFault, CorruptData, Error
from headrace.records.compression import Codec, decompress
from headrace.runtime.steps import Steps
from headrace.types import ZERO_UUID
from headrace.wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.net.inspections import Inspections
    from headrace.broker.telemetry.store import ClientInstance, TelemetryStore
    from headrace.runtime.clock import Clock

_MOST_UNPACKED: Final = 16  # times what is accepted packed: no bomb gets further
_SMALL_BYTES: Final = 64 * 1024
_TIMEOUT_MS: Final = 30_000


def handle(
    metadata: Metadata,
    telemetry: TelemetryStore,
    inspections: Inspections,
    clock: Clock,
    request: PushTelemetryRequest,
    call: Call,
) -> Answer[PushTelemetryResponse]:
    if request.client_instance_id == ZERO_UUID:
        fault = ClientFault(Error.INVALID_REQUEST, "a report needs the id of its client")
        return _rejected(call, fault)
    now_ms = clock.monotonic_ms()
    client = telemetry.client(request.client_instance_id, now_ms)
    try:
        limit = _check(metadata, telemetry, now_ms, request, call, client)
    except ClientFault as fault:
        return _rejected(call, fault, client)
    if not request.metrics:
        return PushTelemetryResponse(error_code=Error.NONE)
    if request.compression_type == Codec.NONE and len(request.metrics) <= _SMALL_BYTES:
        try:
            telemetry.report(client, list(points(request.metrics)))
        except CorruptData as fault:
            return _unreadable(telemetry, call, fault, client)
        return PushTelemetryResponse(error_code=Error.NONE)

    async def read() -> PushTelemetryResponse:
        steps = _read(request, limit)
        try:
            found = await inspections.run(call.connection, steps, _TIMEOUT_MS)
        except CorruptData as fault:
            return _unreadable(telemetry, call, fault, client)
        except ClientFault as fault:
            return _rejected(call, fault, client)
        telemetry.report(client, found)
        return PushTelemetryResponse(error_code=Error.NONE)

    return read()


def _rejected(
    call: Call, fault: ClientFault, client: ClientInstance | None = None
) -> PushTelemetryResponse:
    logs.TELEMETRY.info("Rejected the metrics of %s: %s", call.client_id, fault)
    if client is not None:
        client.last_error = fault.error
    return PushTelemetryResponse(error_code=fault.error)


def _unreadable(
    telemetry: TelemetryStore, call: Call, fault: CorruptData, client: ClientInstance
) -> PushTelemetryResponse:
    telemetry.failed += 1
    return _rejected(call, ClientFault(Error.INVALID_RECORD, str(fault)), client)


def _read(request: PushTelemetryRequest, limit: int) -> Steps[list[Point]]:
    """The numbers of a large or compressed report; safe on any thread."""
    report = decompress(Codec(request.compression_type), request.metrics, limit * _MOST_UNPACKED)
    found = []
    for point in points(report):
        found.append(point)
        yield
    return found


def _check(
    metadata: Metadata,
    telemetry: TelemetryStore,
    now_ms: int,
    request: PushTelemetryRequest,
    call: Call,
    client: ClientInstance,
) -> int:
    """Whether the client may push now; returns `telemetry.max.bytes`."""
    if client.is_terminated:
        raise ClientFault(Error.INVALID_REQUEST, "the client has sent its last report already")
    is_first = (client.last_get_ms or 0) > (client.last_push_ms or -1)
    is_early = not is_first and now_ms - (client.last_push_ms or 0) < client.interval_ms
    if is_early and client.last_push_ms is not None and not request.terminating:
        telemetry.throttled += 1
        raise ClientFault(Error.THROTTLING_QUOTA_EXCEEDED, "the interval is not over")
    client.last_push_ms = now_ms
    client.is_terminated = request.terminating
    subscription = find_subscription(metadata, request.client_instance_id, call)
    if request.subscription_id != subscription.id:
        telemetry.unknown_subscriptions += 1
        raise ClientFault(Error.UNKNOWN_SUBSCRIPTION_ID, "the subscription has changed")
    client.subscription_id, client.interval_ms = subscription.id, subscription.interval_ms
    client.labels = labels_of(request.client_instance_id, call)
    if request.compression_type not in (Codec.NONE, *ACCEPTED):
        raise ClientFault(
            Error.UNSUPPORTED_COMPRESSION_TYPE, f"codec {request.compression_type} is not known"
        )
    limit = metadata.settings.config.get_int("telemetry.max.bytes")
    if len(request.metrics) > limit:
        raise ClientFault(
            Error.TELEMETRY_TOO_LARGE, f"{len(request.metrics)} bytes; allowed are {limit}"
        )
    return limit


HANDLER = Handler(request=PushTelemetryRequest, handle=handle)
