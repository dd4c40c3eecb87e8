"""Interceptors: in at send, out at the acknowledgement."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.errors import Error
from tests.clients.drivers.program import ForeignClient
from tests.clients.producer.gateway import Gateway
from tests.clients.producer.java_producer import PLUGINS, JavaProducer
from tests.clients.producer.written import values
from tests.clients.raw import Connection

CHAIN = f"{PLUGINS}First,{PLUGINS}Second"


@pytest.mark.spec("slides:C42", "slides:C43", "slides:C41")
def test_a_chain_changes_records_and_hears_of_them(
    new_java: Callable[..., JavaProducer],
    java_producers: ForeignClient,
    connection: Connection,
    topic: str,
) -> None:
    """In the order of the list; the second gets what the first returns, the log what it returns."""
    assert java_producers.call("defaults")["interceptor.classes"] == "[]"
    producer = new_java(interceptor_classes=CHAIN, test_log=topic)
    producer.send_and_get({"topic": topic, "key": "k", "value": "v"})
    producer.close()
    assert values(connection, topic) == ["v+first+second"]
    assert java_producers.call("calls", log=topic) == [
        "first configure",
        "second configure",
        "first onSend v",
        "second onSend v+first",
        "first onAcknowledgement offset 0",
        "second onAcknowledgement offset 0",
        "first close",
        "second close",
    ]


@pytest.mark.spec("slides:C43")
def test_a_chain_hears_of_a_failure(
    new_java: Callable[..., JavaProducer],
    java_producers: ForeignClient,
    gateway: Gateway,
    topic: str,
) -> None:
    """onAcknowledgement has the exception where the record was refused."""
    producer = new_java(
        bootstrap=gateway.bootstrap, interceptor_classes=f"{PLUGINS}First", test_log=topic
    )
    gateway.fail_next(Error.INVALID_RECORD)
    producer.send({"topic": topic, "value": "v"})
    assert [each["exception"] for each in producer.reports(1)] == ["InvalidRecordException"]
    calls = java_producers.call("calls", log=topic)
    assert calls[-1] == "first onAcknowledgement InvalidRecordException"
