"""OffsetCommit: who may commit what, and that it comes back unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import Error
from headrace.testing import Broker
from headrace.types import ZERO_UUID
from tests.clients.contract import eventually
from tests.clients.groups.raw_members import (
    COMMIT_VERSION,
    JOIN_VERSION,
    NewMember,
    await_rebalance,
    commit,
    commit_request,
    committed,
    described,
    join_request,
    joined_alone,
    stable_alone,
)
from tests.clients.raw import Connection
from tests.clients.requests import create_topic, topic_id_of

TOPIC_IDS_SINCE = 10
LEADER_EPOCH_SINCE = 6
LONGEST_METADATA = 4096


def as_member(joined: Any) -> dict[str, Any]:
    return {
        "member_id": joined.member_id,
        "generation_id_or_member_epoch": joined.generation_id,
    }


@pytest.mark.parametrize("version", range(2, 11))
def test_every_version_commits(
    connection: Connection, topic: str, group: str, version: int
) -> None:
    """Offset, leader epoch and metadata come back; from v10 on topics have ids (KIP-848)."""
    topic_id = topic_id_of(connection, topic) if version >= TOPIC_IDS_SINCE else ZERO_UUID
    options: dict[str, Any] = {"metadata": "a word", "leader_epoch": 0, "topic_id": topic_id}
    options["version"] = version
    assert commit(connection, group, topic, 42, **options) == Error.NONE
    found = committed(connection, group, topic)
    assert (found.committed_offset, found.metadata) == (42, "a word")
    assert found.committed_leader_epoch == (0 if version >= LEADER_EPOCH_SINCE else -1)


@pytest.mark.parametrize(
    "metadata",
    ["", "x" * LONGEST_METADATA, "Grüße κόσμε 🜁", "\x00\x01\n", "ü" * (LONGEST_METADATA // 2)],
    ids=["empty", "longest", "letters", "control", "longest-in-characters"],
)
def test_metadata_comes_back_unchanged(
    connection: Connection, topic: str, group: str, metadata: str
) -> None:
    """A client may keep any text beside its offset."""
    assert commit(connection, group, topic, 1, metadata=metadata) == Error.NONE
    assert committed(connection, group, topic).metadata == metadata


def test_no_metadata_is_the_empty_string(connection: Connection, topic: str, group: str) -> None:
    """Kafka stores a null as the empty string, and so the last metadata is forgotten."""
    assert commit(connection, group, topic, 1, metadata="before") == Error.NONE
    assert commit(connection, group, topic, 2, metadata=None) == Error.NONE
    found = committed(connection, group, topic)
    assert (found.committed_offset, found.metadata) == (2, "")


def test_oversize_metadata_is_refused(connection: Connection, topic: str, group: str) -> None:
    """offset.metadata.max.bytes is 4096; the offset committed before stays."""
    assert commit(connection, group, topic, 1) == Error.NONE
    for metadata in ("x" * (LONGEST_METADATA + 1), "x" * 30_000):
        error = commit(connection, group, topic, 2, metadata=metadata)
        assert error == Error.OFFSET_METADATA_TOO_LARGE
    assert committed(connection, group, topic).committed_offset == 1


def test_partitions_that_do_not_exist(connection: Connection, topic: str, group: str) -> None:
    """Each has its own error; by id the topic is an unknown id."""
    nowhere = Error.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(connection, group, topic, 1, partition=7) == nowhere
    assert commit(connection, group, topic, 1, partition=-1) == nowhere
    assert commit(connection, group, f"{topic}-x", 1) == nowhere
    stranger = topic_id_of(connection, topic)
    changed = type(stranger)(int=stranger.int ^ 1)
    error = commit(connection, group, topic, 1, topic_id=changed, version=TOPIC_IDS_SINCE)
    assert error == Error.UNKNOWN_TOPIC_ID


def test_only_members_of_the_generation_commit(
    connection: Connection, topic: str, group: str
) -> None:
    """Old and future generations, strangers and outsiders cannot touch a group with members."""
    member = stable_alone(connection, group)
    assert commit(connection, group, topic, 5, **as_member(member)) == Error.NONE
    true = as_member(member)
    for generation in (member.generation_id - 1, member.generation_id + 1):
        wrong = {**true, "generation_id_or_member_epoch": generation}
        assert commit(connection, group, topic, 9, **wrong) == Error.ILLEGAL_GENERATION
    nobody = {**true, "member_id": "nobody"}
    assert commit(connection, group, topic, 9, **nobody) == Error.UNKNOWN_MEMBER_ID
    assert commit(connection, group, topic, 9) == Error.UNKNOWN_MEMBER_ID
    stranger = {**true, "group_instance_id": "stranger"}
    assert commit(connection, group, topic, 9, **stranger) == Error.UNKNOWN_MEMBER_ID
    assert committed(connection, group, topic).committed_offset == 5


def test_a_group_without_members_takes_offsets_from_anybody(
    connection: Connection, topic: str, group: str
) -> None:
    """Without generation and member; whoever claims a generation there is none of is refused."""
    assert commit(connection, group, topic, 3) == Error.NONE
    found = described(connection, group)
    assert (found.group_state, found.protocol_type) == ("Empty", "")
    claim: dict[str, Any] = {"member_id": "m", "generation_id_or_member_epoch": 1}
    assert commit(connection, group, topic, 4, **claim) == Error.UNKNOWN_MEMBER_ID
    for version, error in ((8, Error.ILLEGAL_GENERATION), (9, Error.GROUP_ID_NOT_FOUND)):
        assert commit(connection, f"{group}-x", topic, 4, version=version, **claim) == error
    assert committed(connection, group, topic).committed_offset == 3


@pytest.mark.spec("admin:CO-13")
def test_commits_during_a_rebalance(
    bootstrap: str, connection: Connection, topic: str, group: str
) -> None:
    """While others join the old generation may still commit; once it is over, it may not."""
    member = stable_alone(connection, group)
    with Connection(bootstrap) as other:
        asked = other.ask(join_request(group), JOIN_VERSION)
        other.send(join_request(group, asked.member_id), JOIN_VERSION)
        await_rebalance(connection, group, member)
        assert commit(connection, group, topic, 8, **as_member(member)) == Error.NONE
        again = connection.ask(join_request(group, member.member_id), JOIN_VERSION)
        assert again.generation_id == member.generation_id + 1
        late = commit(connection, group, topic, 9, **as_member(member))
        assert late == Error.ILLEGAL_GENERATION
        # Members of a generation that has no assignment yet have nothing to commit.
        early = commit(connection, group, topic, 9, **as_member(again))
        assert early == Error.REBALANCE_IN_PROGRESS
    assert committed(connection, group, topic).committed_offset == 8


def test_a_fenced_instance_cannot_commit(connection: Connection, topic: str, group: str) -> None:
    """A static member whose place was taken is told so (KIP-345)."""
    old = stable_alone(connection, group, group_instance_id="a")
    joined_alone(connection, group, group_instance_id="a")
    who = {**as_member(old), "group_instance_id": "a"}
    assert commit(connection, group, topic, 1, **who) == Error.FENCED_INSTANCE_ID


def test_members_of_the_consumer_protocol(connection: Connection, topic: str, group: str) -> None:
    """They commit with their epoch; an old one is STALE_MEMBER_EPOCH (KIP-848)."""
    member = NewMember(connection, group, [topic])
    member.join()
    who: dict[str, Any] = {
        "member_id": member.member_id,
        "generation_id_or_member_epoch": member.epoch,
    }
    assert commit(connection, group, topic, 6, **who) == Error.NONE
    future = {**who, "generation_id_or_member_epoch": member.epoch + 1}
    assert commit(connection, group, topic, 9, **future) == Error.STALE_MEMBER_EPOCH
    nobody = {**who, "member_id": "nobody"}
    assert commit(connection, group, topic, 9, **nobody) == Error.UNKNOWN_MEMBER_ID
    assert commit(connection, group, topic, 9, **who, version=8) == Error.UNSUPPORTED_VERSION
    assert committed(connection, group, topic).committed_offset == 6
    member.leave()


@pytest.mark.parametrize("version", range(2, 5))
def test_a_retention_time_lets_offsets_expire(version: int) -> None:
    """Up to v4 a commit says how long it is kept; then the group has nothing and is gone."""
    # A broker of its own: where expiry never rests, groups without offsets do not last.
    often = {"offsets.retention.check.interval.ms": 50}
    with Broker(often) as broker, Connection(broker.bootstrap_servers) as connection:
        create_topic(connection, "t")
        assert commit(connection, "kept", "t", 4, version=version) == Error.NONE
        options = {"retention_time_ms": 50, "version": version}
        assert commit(connection, "short", "t", 4, **options) == Error.NONE
        eventually(
            lambda: committed(connection, "short", "t").committed_offset == -1, "its offset to go"
        )
        eventually(lambda: described(connection, "short").group_state == "Dead", "it to go")
        assert committed(connection, "kept", "t").committed_offset == 4


def test_a_commit_of_nothing(connection: Connection, topic: str, group: str) -> None:
    """A request without topics has an answer without topics."""
    assert commit(connection, group, topic, 1) == Error.NONE
    request = commit_request(group, topic, 1)
    request.topics = []
    assert connection.ask(request, COMMIT_VERSION).topics == []
