"""kafka-python against the broker."""

from __future__ import annotations

import pytest

from tests.clients.contract import (
    Administers,
    DeletesRecords,
    SeeksByTime,
    WritesAndReads,
    WritesIdempotently,
)
from tests.clients.drivers.kafka_python import KafkaPython


class TestKafkaPython(
    Administers,
    DeletesRecords,
    SeeksByTime,
    WritesAndReads,
    WritesIdempotently,
):
    @pytest.fixture
    def client(self, kafka_python: KafkaPython) -> KafkaPython:
        return kafka_python
