"""What tools show of groups: state, type, members and offsets, in both protocols."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import ConsumerGroupState, ConsumerGroupType
from confluent_kafka.admin import AdminClient

from headrace.errors import Error
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.list_groups import ListGroupsRequest
from tests.clients.consumer.application import (
    TIMEOUT_SECONDS,
    Members,
    numbered,
    write,
)
from tests.clients.drivers.java_consumer import OpenedConsumers
from tests.clients.groups.raw_members import NewMember, described_consumer
from tests.clients.raw import Connection

both_protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])


def listed(connection: Connection, group: str) -> tuple[str, str]:
    """State and type of a group as ListGroups has them."""
    answer = connection.ask(ListGroupsRequest(), 5)
    assert answer.error_code == Error.NONE
    (found,) = (each for each in answer.groups if each.group_id == group)
    return found.group_state, found.group_type


@both_protocols
def test_tools_show_the_true_state_of_a_group(
    bootstrap: str,
    connection: Connection,
    members: Members,
    java_consumers: OpenedConsumers,
    new_topic: Callable[..., str],
    group: str,
    protocol: str,
) -> None:
    """Stable with its members, Empty without them, never Dead: to every client and tool."""
    topic = new_topic(partitions=2)
    write(bootstrap, topic, numbered(5))
    member = members.join(group, topic, group_protocol=protocol)
    member.take(5)
    member.consumer.commit(asynchronous=False)
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def tool(*words: str) -> list[list[str]]:
        arguments = ["--describe", "--group", group, *words]
        told = java_consumers.program.call("kafka_consumer_groups", arguments=arguments)
        return [line.split() for line in told.splitlines() if line.startswith(group)]

    for state, count in (("Stable", 1), ("Empty", 0)):
        assert listed(connection, group) == (state, protocol)
        told = java_consumers.program.call("describe_groups", groups=[group])[group]
        assert (told["state"], told["type"]) == (state, protocol.capitalize())
        assert [each["partitions"] for each in told["members"]] == [
            [[topic, 0], [topic, 1]]
        ] * count
        shown = admin.describe_consumer_groups([group])[group].result(TIMEOUT_SECONDS)
        assert shown.state == ConsumerGroupState[state.upper()]
        assert shown.type == ConsumerGroupType[protocol.upper()]
        assert len(shown.members) == count
        ((*_, shown_state, shown_count),) = tool("--state")
        assert (shown_state, shown_count) == (state, str(count))
        rows = {row[2]: row[3:6] for row in tool()}
        assert rows["0"] == ["5", "5", "0"]
        member.close()


def test_describing_consumer_groups_is_no_lie(
    connection: Connection, topic: str, group: str
) -> None:
    """ConsumerGroupHeartbeat v1 and ConsumerGroupDescribe are both offered, and both work."""
    offered = {each.api_key: each for each in connection.ask(ApiVersionsRequest(), 0).api_keys}
    assert offered[68].max_version >= 1
    assert offered[69].max_version >= 1
    member = NewMember(connection, group, [topic])
    assert member.join().error_code == Error.NONE
    shown = described_consumer(connection, group)
    assert (shown.error_code, shown.group_state) == (Error.NONE, "Stable")
    assert [each.member_id for each in shown.members] == [member.member_id]
    assert member.leave().error_code == Error.NONE
    assert described_consumer(connection, group).group_state == "Empty"
