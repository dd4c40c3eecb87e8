"""aiokafka against the broker."""

from __future__ import annotations

import pytest

from tests.clients.contract import (
    Administers,
    DeletesRecords,
    SeeksByTime,
    WritesAndReads,
    WritesIdempotently,
)
from tests.clients.drivers.aiokafka import Aiokafka


class TestAiokafka(
    Administers,
    DeletesRecords,
    SeeksByTime,
    WritesAndReads,
    WritesIdempotently,
):
    @pytest.fixture
    def client(self, aiokafka: Aiokafka) -> Aiokafka:
        return aiokafka
