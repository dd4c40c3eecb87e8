"""Which replicas a partition may be given."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headrace.cluster.reassignments import check_reassignment
from headrace.cluster.topics import NewTopic
from headrace.errors import ClientFault, Error
from tests.cluster.clusters import cluster, with_topics


def verdict(replicas: Sequence[int] | None, *, may_change_factor: bool = True) -> Error:
    """On a partition that brokers 2 and 0 have, of the brokers 0 to 2."""
    image = with_topics(cluster(), NewTopic("t", assignments=[(0, [2, 0])]))
    try:
        check_reassignment(image, "t", 0, replicas, may_change_factor=may_change_factor)
    except ClientFault as fault:
        return fault.error
    return Error.NONE


def test_what_is_so_already_is_accepted() -> None:
    """The current replicas in their order need no move, whatever the factor may do."""
    assert verdict([2, 0]) == Error.NONE
    assert verdict([2, 0], may_change_factor=False) == Error.NONE


@pytest.mark.parametrize("replicas", [[], [0, 0], [2, 7], [-1]])
def test_replicas_that_cannot_be_are_refused(replicas: list[int]) -> None:
    """None at all, one twice, and brokers that nobody knows."""
    assert verdict(replicas) == Error.INVALID_REPLICA_ASSIGNMENT
    assert verdict(replicas, may_change_factor=False) == Error.INVALID_REPLICA_ASSIGNMENT


@pytest.mark.parametrize("replicas", [[2], [2, 0, 1]])
def test_the_factor_stays_if_the_request_says_so(replicas: list[int]) -> None:
    """KIP-860: another number of replicas is INVALID_REPLICATION_FACTOR."""
    assert verdict(replicas, may_change_factor=False) == Error.INVALID_REPLICATION_FACTOR


@pytest.mark.parametrize("replicas", [[2], [0, 2], [2, 1], [2, 0, 1]])
def test_no_move_is_promised_that_nobody_makes(replicas: list[int]) -> None:
    """Other replicas are refused as long as nothing brings the records there."""
    assert verdict(replicas) == Error.INVALID_REPLICA_ASSIGNMENT


def test_nothing_can_be_called_off() -> None:
    """No partition is on the move."""
    assert verdict(None) == Error.NO_REASSIGNMENT_IN_PROGRESS


@pytest.mark.parametrize(("topic", "partition"), [("u", 0), ("t", 1), ("t", -1)])
@pytest.mark.parametrize("replicas", [None, [], [0]])
def test_unknown_partitions_come_before_everything(
    topic: str, partition: int, replicas: list[int] | None
) -> None:
    """What is asked of a partition that is not there does not matter."""
    image = with_topics(cluster(), NewTopic("t", assignments=[(0, [2, 0])]))
    with pytest.raises(ClientFault) as fault:
        check_reassignment(image, topic, partition, replicas, may_change_factor=True)
    assert fault.value.error == Error.UNKNOWN_TOPIC_OR_PARTITION
