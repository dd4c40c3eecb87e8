"""Quotas in a cluster: one broker is told, all of them know, and each counts for itself."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from headrace.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from headrace.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from tests.clients.cluster.observing import Observer
from tests.clients.contract import eventually
from tests.clients.raw import Connection, batch_of
from tests.clients.records import FIRST_TIMESTAMP_MS, Record
from tests.clients.requests import produce_request

if TYPE_CHECKING:
    from headrace.testing import Cluster

PRODUCE_VERSION = 12


@pytest.mark.spec("slides:M09")
def test_a_quota_that_one_broker_was_told_holds_on_all(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """Every broker throttles by it, by what itself has seen, and none does when it is removed."""
    client_id = f"greedy-{uuid.uuid4().hex[:8]}"
    topics = {broker_id: new_topic({0: [broker_id]}) for broker_id in (1, 2, 3)}
    component = ComponentData(entity_type="client-id", match_type=0, match=client_id)
    question = DescribeClientQuotasRequest(components=[component], strict=True)

    def put(broker_id: int, *, remove: bool) -> None:
        op = OpData(key="producer_byte_rate", value=1_000.0, remove=remove)
        entity = EntityData(entity_type="client-id", entity_name=client_id)
        entry = EntryData(entity=[entity], ops=[op])
        request = AlterClientQuotasRequest(entries=[entry], validate_only=False)
        (outcome,) = observer.ask(broker_id, request, 1).entries
        assert outcome.error_code == 0, outcome.error_message

    def throttle_ms(broker_id: int, size: int) -> int:
        batch = batch_of([Record(b"", bytes(size), FIRST_TIMESTAMP_MS)])
        with Connection(
            cluster.broker(broker_id).bootstrap_servers, client_id=client_id
        ) as connection:
            answer: Any = connection.ask(produce_request(topics[broker_id], batch), PRODUCE_VERSION)
        return int(answer.throttle_time_ms)

    put(2, remove=False)
    for broker_id in (1, 2, 3):
        eventually(lambda b=broker_id: len(observer.ask(b, question, 1).entries) == 1, "the quota")  # type: ignore[misc]
        # Ten seconds' worth are for every broker, and then no more.
        assert throttle_ms(broker_id, 9_000) == 0
        assert throttle_ms(broker_id, 9_000) > 0
    put(3, remove=True)
    for broker_id in (1, 2, 3):
        eventually(lambda b=broker_id: not observer.ask(b, question, 1).entries, "no quota")  # type: ignore[misc]
        assert throttle_ms(broker_id, 9_000) == 0
