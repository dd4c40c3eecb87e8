"""What the Java client says about itself while it starts and while its group is rebalanced."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.clients.drivers.java_consumer import OpenedConsumers


@pytest.mark.spec("slides:D46", "book1:N-08")
def test_a_consumer_says_its_settings_and_its_version(
    java_consumers: OpenedConsumers, group: str
) -> None:
    """First every effective setting, then the version and the commit it was built from."""
    java_consumers.open(group_id=group, max_poll_records="77")
    log = java_consumers.program.log
    start = log.rindex("ConsumerConfig values:")
    own = log[start:]
    settings = re.findall(r"^\t([a-z.]+\S*) = (.*)$", own, flags=re.MULTILINE)
    names = [name for name, _ in settings]
    assert dict(settings)["group.id"] == group
    assert dict(settings)["max.poll.records"] == "77"
    assert dict(settings)["fetch.min.bytes"] == "1"
    assert names == sorted(names)
    assert len(names) > 60
    version, commit = own.index("Kafka version: 4.3.1"), own.index("Kafka commitId: ")
    assert own.index("value.deserializer = ") < version < commit
    assert re.search(r"Kafka commitId: [0-9a-f]{16}", own)


@pytest.mark.spec("slides:D12", "slides:D11", "admin:CO-13", "admin:CO-14")
def test_the_steps_of_a_rebalance_in_their_order(
    java_consumers: OpenedConsumers, new_topic: Callable[..., str], group: str
) -> None:
    """Find the coordinator, revoke what was owned, join, be a member, take the new assignment."""
    topic = new_topic(partitions=2)
    first = java_consumers.join(group, topic)
    java_consumers.poll([first], partitions=[2])
    second = java_consumers.join(group, topic)
    java_consumers.poll([first, second], partitions=[1, 1])
    own = [line for line in java_consumers.program.log.splitlines() if f"groupId={group}]" in line]
    client = re.search(r"clientId=([^,]+),", own[0])
    assert client is not None
    mine = [line for line in own if client[0] in line]
    steps = (
        "Discovered group coordinator",
        "(Re-)joining group",
        "Successfully joined group with generation",
        "Adding newly assigned partitions: ",
        "Request joining group due to: group is already rebalancing",
        "Revoke previously assigned partitions",
        "(Re-)joining group",
        "Successfully joined group with generation",
        "Adding newly assigned partitions: ",
    )
    place = -1
    for text in steps:
        found = [number for number, line in enumerate(mine) if text in line and number > place]
        assert found, f"{text!r} does not follow line {place} of\n" + "\n".join(mine)
        place = found[0]
    assert len(re.findall(rf"{topic}-\d", mine[place])) == 1
