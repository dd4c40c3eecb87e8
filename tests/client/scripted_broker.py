"""A peer that speaks Kafka's protocol by a script: what no healthy broker can be brought to say.

A script has one answer per request class: a function of the request, a list of such answers that
are used up one by one (the last stays), or a response as it is. `None` hangs up instead.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headrace.wire import decode
from headrace.wire.header import decode_request_header, encode_response, peek
from headrace.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from headrace.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from headrace.wire.registry import by_key
from headrace.wire.schema import info
from tests.client.listeners import Serve, listening, tls

NODE = 7

Script = dict[type, Any]


class ScriptedBroker:
    """Answers as its script says; `seen` are the requests that came, without ApiVersions."""

    def __init__(self, script: Script, newest: Mapping[type, int]) -> None:
        self.script = script
        self.seen: list[Any] = []
        self.port = 0
        self._newest = newest

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def of(self, request_class: type) -> list[Any]:
        return [request for request in self.seen if isinstance(request, request_class)]

    def serve(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as frames:
            while head := frames.read(4):
                frame = frames.read(int.from_bytes(head, "big"))
                key, version, correlation_id = peek(frame)
                request_class = by_key(key).request
                _, position = decode_request_header(frame, 0, request_class)
                answer = self._answer(decode(request_class, version, frame, position))
                if answer is None:
                    return
                connection.sendall(b"".join(encode_response(correlation_id, version, answer)))

    def _answer(self, request: Any) -> Any:
        if isinstance(request, ApiVersionsRequest):
            return self._versions()
        self.seen.append(request)
        answer = self.script[type(request)]
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        return answer(request) if isinstance(answer, Callable) else answer  # type: ignore[arg-type]

    def _versions(self) -> ApiVersionsResponse:
        keys = []
        for request_class in (ApiVersionsRequest, *self.script):
            declared = info(request_class)
            newest = self._newest.get(request_class, declared.versions[-1])
            keys.append(
                ApiVersion(
                    api_key=declared.key, min_version=declared.versions[0], max_version=newest
                )
            )
        return ApiVersionsResponse(error_code=0, api_keys=keys)


@contextlib.contextmanager
def scripted_broker(
    script: Script,
    *,
    newest: Mapping[type, int] | None = None,
    context: ssl.SSLContext | None = None,
) -> Iterator[ScriptedBroker]:
    """A peer with this script, gone afterwards; behind TLS if it gets a context."""
    broker = ScriptedBroker(script, newest or {})
    serve: Serve = broker.serve if context is None else tls(context, broker.serve)
    with listening(serve) as port:
        broker.port = port
        yield broker


def metadata(
    broker: Callable[[], ScriptedBroker], topics: list[MetadataResponseTopic]
) -> Callable[[MetadataRequest], MetadataResponse]:
    """Answers of a cluster of one: those of the topics that are asked for."""

    def answer(request: MetadataRequest) -> MetadataResponse:
        names = None if request.topics is None else {topic.name for topic in request.topics}
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=NODE, host="127.0.0.1", port=broker().port)],
            topics=[topic for topic in topics if names is None or topic.name in names],
        )

    return answer


def topic_led(name: str, *, leader: int = NODE, epoch: int = 3, **options: Any) -> Any:
    """A topic of one partition with this leader."""
    return MetadataResponseTopic(
        error_code=0,
        name=name,
        partitions=[
            MetadataResponsePartition(
                error_code=0,
                partition_index=0,
                leader_id=leader,
                leader_epoch=epoch,
                replica_nodes=[NODE],
                isr_nodes=[NODE],
            )
        ],
        **options,
    )
