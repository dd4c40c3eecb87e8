"""A coordinator whose internal topic is just being created: clients are told to come again.

Partitions are created a slice at a time, and other clients are served in between.
"""

from __future__ import annotations

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.offset_fetch import OffsetFetchRequest
from tests.clients.raw import Connection

GROUP = FindCoordinatorRequest(key="billing", key_type=0)
FIND_VERSION = 3
OFFSETS = OffsetFetchRequest(group_id="billing", topics=None)
OFFSETS_VERSION = 7
NOT_CREATED = Error.COORDINATOR_NOT_AVAILABLE


def test_a_coordinator_is_named_when_it_can_be_asked() -> None:
    """Until then clients come again; none is sent away from the coordinator that it was named."""
    properties = {"offsets.topic.num.partitions": 2000}
    with (
        Broker(properties) as broker,
        Connection(broker.bootstrap_servers) as first,
        Connection(broker.bootstrap_servers) as second,
    ):
        created = first.send(GROUP, FIND_VERSION)
        while (early := second.ask(OFFSETS, OFFSETS_VERSION).error_code) == NOT_CREATED:
            pass
        assert early == Error.COORDINATOR_LOAD_IN_PROGRESS
        while (found := second.ask(GROUP, FIND_VERSION).error_code) == NOT_CREATED:
            pass
        assert found == Error.NONE
        assert second.ask(OFFSETS, OFFSETS_VERSION).error_code == Error.NONE
        assert first.answer(created, type(GROUP), FIND_VERSION).error_code == Error.NONE
