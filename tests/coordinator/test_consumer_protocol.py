"""What consumers tell each other through a classic group, as their own clients write it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.wire import MalformedMessage
from headrace.wire.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    subscribed_topics,
    version_of,
)

OWNED = [TopicPartitions(topic="a", partitions=[0, 2])]
SUBSCRIPTION = ConsumerProtocolSubscription(
    topics=["a", "b"], user_data=b"u", owned_partitions=OWNED, generation_id=5, rack_id="r"
)
# What a Java consumer of version 0 sends for the topics a and b, without user data.
OLDEST = bytes.fromhex("0000 00000002 0001 61 0001 62 ffffffff")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, ConsumerProtocolSubscription(topics=["a", "b"], user_data=b"u")),
        (
            1,
            ConsumerProtocolSubscription(topics=["a", "b"], user_data=b"u", owned_partitions=OWNED),
        ),
        (
            2,
            ConsumerProtocolSubscription(
                topics=["a", "b"], user_data=b"u", owned_partitions=OWNED, generation_id=5
            ),
        ),
        (3, SUBSCRIPTION),
    ],
)
def test_subscriptions(version: int, expected: ConsumerProtocolSubscription) -> None:
    """Each version says what it can; the version itself can be asked for."""
    written = encode_subscription(SUBSCRIPTION, version)
    assert version_of(written) == version
    assert decode_subscription(written) == expected
    assert subscribed_topics(written) == frozenset({"a", "b"})


def test_the_oldest_bytes() -> None:
    """KIP-848's migration and old clients still begin with version 0."""
    assert decode_subscription(OLDEST).topics == ["a", "b"]
    assert encode_subscription(ConsumerProtocolSubscription(topics=["a", "b"]), 0) == OLDEST


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_assignments(version: int) -> None:
    """The same fields in all versions."""
    assignment = ConsumerProtocolAssignment(assigned_partitions=OWNED, user_data=None)
    written = encode_assignment(assignment, version)
    assert version_of(written) == version
    assert decode_assignment(written) == assignment


def test_newer_versions_are_read_as_the_newest_known_one() -> None:
    """A version from the future only adds fields at its end."""
    future = b"\0\x09" + encode_subscription(SUBSCRIPTION, 3)[2:] + b"more"
    assert decode_subscription(future) == SUBSCRIPTION


def test_topics_are_found_in_front_of_damage() -> None:
    """Kafka protects the offsets of subscribed topics even if the rest cannot be read."""
    damaged = encode_subscription(SUBSCRIPTION, 3)[:-1]
    with pytest.raises(MalformedMessage):
        decode_subscription(damaged)
    assert subscribed_topics(damaged) == frozenset({"a", "b"})


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\xff\xff" + OLDEST[2:], b"\0\0\0\0\0\1"])
def test_what_is_no_subscription(metadata: bytes) -> None:
    """Members may send anything as metadata; only those who want to read it fail."""
    with pytest.raises(MalformedMessage):
        decode_subscription(metadata)


@given(st.binary())
def test_any_bytes(metadata: bytes) -> None:
    """Random bytes are readable or not; nothing else happens."""
    subscribed_topics(metadata)
    for decode in (decode_subscription, decode_assignment):
        try:
            decode(metadata)
        except MalformedMessage:
            pass
