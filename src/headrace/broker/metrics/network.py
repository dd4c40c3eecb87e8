"""Metrics of requests and connections (kafka.network, socket-server-metrics)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter_ns
from typing import Final

from headrace.broker.metrics.declaration import (
    COUNTER,
    GAUGE,
    SUMMARY,
    Metric,
    Reading,
    Sources,
    Summary,
    one,
)
from headrace.broker.net.request_times import STAGES, THROTTLE, TOTAL, RequestWatch
from headrace.broker.watching.durations import Times, quantiles
from headrace.errors import Error

QUANTILES: Final = ("0.5", "0.75", "0.95", "0.98", "0.99", "0.999")
_FRACTIONS: Final = [float(quantile) for quantile in QUANTILES]
_FETCH: Final = "Fetch"

_MEANINGS: Final = {
    TOTAL: "From the last byte of a request to the last byte of its answer.",
    "requestqueuetimems": "A request that has arrived waits for those before it.",
    "localtimems": "A request is worked on by its handler.",
    "remotetimems": "A request waits: for records, for replicas, for other members of a group.",
    "throttletimems": "What a quota asked the client to wait after its answer.",
    "responsequeuetimems": "An answer waits for those before it on its connection.",
    "responsesendtimems": "An answer is taken by the socket; rises with TLS and slow readers.",
}


def _watched(sources: Sources) -> Iterator[tuple[str, list[RequestWatch]]]:
    """Every kind of request; fetches together, and those of consumers and followers apart."""
    for watch in sources.broker.reporter.watches.values():
        if watch.name != _FETCH:
            yield watch.name, [watch]
            continue
        followers = watch.of_followers()
        yield _FETCH, [watch, followers]
        yield "FetchConsumer", [watch]
        yield "FetchFollower", [followers]


def _counts(sources: Sources) -> dict[str, int]:
    """Requests by name, exactly: not all of these are timed."""
    counts: Counter[str] = Counter()
    reporter = sources.broker.reporter
    for tally in reporter.tallies.values():
        counts[tally.name] += tally.requests
    followers = reporter.follower_fetches
    return counts | {
        "FetchFollower": followers,
        "FetchConsumer": counts[_FETCH] - followers,
    }


def _stage(stage: str) -> Callable[[Sources], Iterable[Reading]]:
    at = None if stage == TOTAL else STAGES.index(stage)

    def of(times: Times) -> int:
        return sum(times) - times[THROTTLE] if at is None else times[at]

    def read(sources: Sources) -> Iterator[Reading]:
        now_ns = perf_counter_ns()
        counts = _counts(sources)
        for name, watches in _watched(sources):
            samples: list[int] = []
            sum_ns = 0
            for watch in watches:
                watch.fold(now_ns)
                samples += map(of, watch.durations.recent())
                sum_ns += of(tuple(watch.durations.sums_ns))
            found = dict(zip(QUANTILES, quantiles(samples, _FRACTIONS), strict=True))
            yield (name,), Summary(found, counts[name], sum_ns / 1e6)

    return read


def _requests(sources: Sources) -> Iterator[Reading]:
    for tally in sources.broker.reporter.tallies.values():
        yield (tally.name, str(tally.version)), tally.requests


def _errors(sources: Sources) -> Iterator[Reading]:
    reporter = sources.broker.reporter
    of_handlers = {"Produce": reporter.produce_errors, _FETCH: reporter.fetch_errors}
    counts = _counts(sources)
    for watch in reporter.watches.values():
        errors = watch.errors
        if watch.name in of_handlers:
            failed = of_handlers[watch.name]
            errors = failed | Counter({0: max(counts[watch.name] - failed.total(), 0)})
        for code, count in sorted(errors.items()):
            yield (watch.name, _error_name(code)), count


def _error_name(code: int) -> str:
    try:
        return Error(code).name
    except ValueError:
        return str(code)


def _request_bytes(sources: Sources) -> Iterator[Reading]:
    by_name: dict[str, list[int]] = {}
    for tally in sources.broker.reporter.tallies.values():
        sums = by_name.setdefault(tally.name, [0, 0])
        sums[0] += tally.requests
        sums[1] += tally.bytes_in
    for name, (count, size) in by_name.items():
        yield (name,), Summary({}, count, size)


def _connections(sources: Sources) -> Iterator[Reading]:
    for listener in sources.listeners:
        yield (listener.name,), len(listener.connections)


def _accepted(sources: Sources) -> Iterator[Reading]:
    for listener in sources.listeners:
        yield (listener.name,), listener.accepted


def _closed(sources: Sources) -> Iterator[Reading]:
    for listener in sources.listeners:
        yield (listener.name,), listener.accepted - len(listener.connections)


def _waiting_answers(sources: Sources) -> int:
    return sum(
        connection.answers_waiting
        for listener in sources.listeners
        for connection in listener.connections
    )


_OF_SOCKETS: Final = "kafka.server:type=socket-server-metrics,listener="

NETWORK_METRICS: Final = (
    *(
        Metric(
            f"kafka_network_requestmetrics_{stage}",
            SUMMARY,
            f"{meaning} Milliseconds; quantiles of the last minute.",
            _stage(stage),
            ("request",),
            f"kafka.network:type=RequestMetrics,name={name},request=",
        )
        for (stage, meaning), name in zip(
            _MEANINGS.items(),
            (
                "TotalTimeMs",
                "RequestQueueTimeMs",
                "LocalTimeMs",
                "RemoteTimeMs",
                "ThrottleTimeMs",
                "ResponseQueueTimeMs",
                "ResponseSendTimeMs",
            ),
            strict=True,
        )
    ),
    Metric(
        "kafka_network_requestmetrics_requests_total",
        COUNTER,
        "Requests that have arrived, by API and version.",
        _requests,
        ("request", "version"),
        "kafka.network:type=RequestMetrics,name=RequestsPerSec,request=,version=",
    ),
    Metric(
        "kafka_network_requestmetrics_errors_total",
        COUNTER,
        "Error codes in answers, one for each partition, topic or group that an answer speaks of. "
        "NONE is counted too; of Produce and Fetch once for each request that has no error.",
        _errors,
        ("request", "error"),
        "kafka.network:type=RequestMetrics,name=ErrorsPerSec,request=,error=",
    ),
    Metric(
        "kafka_network_requestmetrics_requestbytes",
        SUMMARY,
        "Sizes of requests with their length prefix.",
        _request_bytes,
        ("request",),
        "kafka.network:type=RequestMetrics,name=RequestBytes,request=",
    ),
    Metric(
        "kafka_network_requestchannel_requestqueuesize",
        GAUGE,
        "Requests that are worked on in the background, of all connections.",
        one(lambda sources: sources.dispatcher.background),
        mbean="kafka.network:type=RequestChannel,name=RequestQueueSize",
    ),
    Metric(
        "kafka_network_requestchannel_responsequeuesize",
        GAUGE,
        "Answers that wait for others before them on their connections.",
        one(_waiting_answers),
        mbean="kafka.network:type=RequestChannel,name=ResponseQueueSize",
    ),
    Metric(
        "kafka_network_socketserver_networkprocessoravgidle_percent",
        GAUGE,
        "The idle part of the broker's event loop since the last scrape, from 0 to 1.",
        one(lambda sources: sources.load.idle),
        mbean="kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent",
    ),
    Metric(
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
        GAUGE,
        "The same: one thread reads requests and handles them.",
        one(lambda sources: sources.load.idle),
        mbean="kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent",
    ),
    Metric(
        "kafka_server_socket_server_metrics_connection_count",
        GAUGE,
        "Open connections.",
        _connections,
        ("listener",),
        f"{_OF_SOCKETS}:connection-count",
    ),
    Metric(
        "kafka_server_socket_server_metrics_connection_creation_total",
        COUNTER,
        "Connections that were accepted.",
        _accepted,
        ("listener",),
        f"{_OF_SOCKETS}:connection-creation-total",
    ),
    Metric(
        "kafka_server_socket_server_metrics_connection_close_total",
        COUNTER,
        "Connections that have ended.",
        _closed,
        ("listener",),
        f"{_OF_SOCKETS}:connection-close-total",
    ),
    Metric(
        "kafka_server_socket_server_metrics_outgoing_byte_total",
        COUNTER,
        "Bytes written to clients.",
        one(lambda sources: sources.broker.reporter.bytes_out),
        mbean="kafka.server:type=socket-server-metrics:outgoing-byte-total",
    ),
    Metric(
        "kafka_server_socket_server_metrics_incoming_byte_total",
        COUNTER,
        "Bytes of requests.",
        one(lambda s: sum(tally.bytes_in for tally in s.broker.reporter.tallies.values())),
        mbean="kafka.server:type=socket-server-metrics:incoming-byte-total",
    ),
    Metric(
        "headrace_connections_refused_total",
        COUNTER,
        "Connections beyond `max.connections` or `max.connections.per.ip`.",
        one(lambda sources: sources.broker.reporter.connections_refused),
    ),
    Metric(
        "headrace_frames_refused_total",
        COUNTER,
        "Connections that were closed because their bytes made no sense.",
        one(lambda sources: sources.broker.reporter.frames_refused),
    ),
)
