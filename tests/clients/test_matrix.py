"""What one client wrote, the others read: every writer and codec, read by librdkafka and Java."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.clients.drivers.driver import Writer
from tests.clients.drivers.librdkafka import Librdkafka
from tests.clients.drivers.program import ForeignClient
from tests.clients.records import CODECS, sample_records, stored_from

WRITERS = ("librdkafka", "java", "kafka_python", "aiokafka", "kafkajs", "franz_go")


@pytest.mark.spec("admin:RQ-18", "admin:LS-05", "book1:M-18")
@pytest.mark.parametrize("writer", WRITERS)
def test_others_read_what_one_client_wrote(
    writer: str,
    request: pytest.FixtureRequest,
    librdkafka: Librdkafka,
    java: ForeignClient,
    new_topic: Callable[..., str],
) -> None:
    """The broker hands out each batch as its writer compressed it, and every reader agrees."""
    client: Writer = request.getfixturevalue(writer)
    records = sample_records(without=client.refuses)
    topic = new_topic(partitions=len(CODECS))
    for partition, codec in enumerate(CODECS):
        if codec not in client.codecs:
            continue  # the client's own module says so by skipping a test
        client.produce(topic, partition, records, codec=codec)
        expected = stored_from(0, records)
        assert librdkafka.read(topic, partition, 0, len(records)) == expected, codec
        assert java.read(topic, partition, 0, len(records)) == expected, codec
