"""Share groups begin elsewhere, forget topics, and are deleted; only without members."""

from __future__ import annotations

from typing import Any

from headrace.errors import Error
from headrace.types import ZERO_UUID
from headrace.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from headrace.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from tests.coordinator.group.share.stage import ShareStage


def alteration(**topics: dict[int, int]) -> AlterShareGroupOffsetsRequest:
    return AlterShareGroupOffsetsRequest(
        group_id="g",
        topics=[
            AlterShareGroupOffsetsRequestTopic(
                topic_name=name,
                partitions=[
                    AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=at)
                    for index, at in offsets.items()
                ],
            )
            for name, offsets in topics.items()
        ],
    )


def forgetting(*topics: str) -> DeleteShareGroupOffsetsRequest:
    return DeleteShareGroupOffsetsRequest(
        group_id="g",
        topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in topics],
    )


def ask(stage: ShareStage, handler: str, request: Any) -> Any:
    """The answer, after everything that the group asked for has been done."""
    ticket = stage.begin(handler, request)
    stage.carry_out_all()
    return stage.answers[ticket]


def test_a_new_group_begins_where_it_is_told() -> None:
    """AlterShareGroupOffsets makes the group; the answer waits until the states are written."""
    stage = ShareStage()
    ticket = stage.begin("share.alter_offsets", alteration(logs={0: 42}))
    assert ticket not in stage.answers
    stage.carry_out_all()
    assert stage.answers[ticket].responses[0].partitions[0].error_code == Error.NONE
    assert stage.started() == {"logs-0": (1, 42)}
    stage.restart()
    assert stage.group.state.value == "Empty"
    stage.join("A", "logs")
    assert stage.assigned["A"] == {"logs": [0]}
    assert stage.started() == {"logs-0": (1, 42)}


def test_a_group_that_has_read_begins_elsewhere() -> None:
    """In a higher epoch, so that the leader of the partition must read the state again."""
    stage = ShareStage()
    stage.join_ready("A", "logs")
    refused = ask(stage, "share.alter_offsets", alteration(logs={0: 7}))
    assert (refused.error_code, refused.responses) == (Error.NON_EMPTY_GROUP, [])
    stage.leave("A")
    epoch = stage.group.group_epoch
    ask(stage, "share.alter_offsets", alteration(logs={0: 7}))
    assert stage.started() == {"logs-0": (epoch + 1, 7)}
    ask(stage, "share.alter_offsets", alteration(logs={0: 9}))
    assert stage.started() == {"logs-0": (epoch + 2, 9)}


def test_partitions_that_cannot_be_altered() -> None:
    """Unknown topics and partitions are told one by one, and so is what the coordinator says."""
    stage = ShareStage()
    ticket = stage.begin("share.alter_offsets", alteration(orders={0: 1, 1: 1, 9: 1}, none={0: 1}))
    stage.carry_out(stage.asked[0], failing=Error.COORDINATOR_NOT_AVAILABLE)
    orders, none = stage.answers[ticket].responses
    assert [Error(each.error_code) for each in orders.partitions] == [
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert [Error(each.error_code) for each in none.partitions] == [
        Error.UNKNOWN_TOPIC_OR_PARTITION
    ]
    assert none.topic_id == ZERO_UUID
    nothing = ask(stage, "share.alter_offsets", alteration(none={0: 1}))
    assert nothing.error_code == Error.NONE


def test_forgetting_topics() -> None:
    """DeleteShareGroupOffsets: the state of one topic goes, the others stay."""
    stage = ShareStage()
    stage.join_ready("A", "orders", "logs")
    assert (
        ask(stage, "share.delete_offsets", forgetting("logs")).error_code == Error.NON_EMPTY_GROUP
    )
    stage.leave("A")
    answer = ask(stage, "share.delete_offsets", forgetting("logs", "none"))
    logs, none = answer.responses
    assert (logs.error_code, none.error_code) == (0, Error.UNKNOWN_TOPIC_OR_PARTITION)
    assert stage.started().keys() == {"orders-0", "orders-1"}
    (again,) = ask(stage, "share.delete_offsets", forgetting("logs")).responses
    assert again.error_message == "There is no offset information to delete."
    stage.pass_time(1_000)
    stage.join("B", "logs")
    assert stage.asked  # it begins anew
    stage.carry_out_all()
    stage.heartbeat("B")
    assert stage.assigned["B"] == {"logs": [0]}


def test_forgetting_is_repeated() -> None:
    """What could not be deleted stays noted; the next attempt takes all that the topic may have."""
    stage = ShareStage()
    stage.join_ready("A", "logs")
    stage.leave("A")
    ticket = stage.begin("share.delete_offsets", forgetting("logs"))
    stage.carry_out(stage.asked[0], failing=Error.NETWORK_EXCEPTION)
    assert stage.answers[ticket].responses[0].error_code == Error.NETWORK_EXCEPTION
    stage.restart()
    assert list(stage.group.partitions.deleting.values()) == ["logs"]
    assert (
        ask(stage, "share.delete_offsets", forgetting("logs")).responses[0].error_code == Error.NONE
    )
    assert stage.started() == {}
    assert stage.group.partitions.deleting == {}


def test_who_joins_while_a_topic_is_forgotten_waits() -> None:
    """Otherwise the state that begins might be the one that is deleted."""
    stage = ShareStage()
    stage.join_ready("A", "logs")
    stage.leave("A")
    ticket = stage.begin("share.delete_offsets", forgetting("logs"))
    (deletion,) = stage.asked
    stage.join("B", "logs")
    assert stage.asked == [deletion]
    stage.carry_out(deletion)
    assert stage.answers[ticket].responses[0].error_code == Error.NONE
    stage.heartbeat("B")
    stage.carry_out_all()
    stage.pass_time(1_000)
    stage.heartbeat("B")
    assert stage.assigned["B"] == {"logs": [0]}


def test_a_group_is_deleted_with_its_states() -> None:
    """DeleteGroups: first the states, then the group; nothing of it is left in the log."""
    stage = ShareStage()
    stage.join_ready("A", "orders")
    assert ask(stage, "delete_group", "g").error_code == Error.NON_EMPTY_GROUP
    stage.leave("A")
    assert ask(stage, "delete_group", "g").error_code == Error.NONE
    assert stage.started() == {}
    assert "g" not in stage.shard.groups
    stage.compact()
    assert not stage.log
    assert ask(stage, "delete_group", "g").error_code == Error.GROUP_ID_NOT_FOUND


def test_a_group_without_states_is_deleted_at_once() -> None:
    """It never had a topic that exists."""
    stage = ShareStage()
    stage.join("A", "none")
    stage.leave("A")
    assert stage.ask("delete_group", "g").error_code == Error.NONE
    assert not stage.asked


def test_a_group_whose_states_cannot_be_deleted_stays() -> None:
    """The error is told, and the deletion can be repeated."""
    stage = ShareStage()
    stage.join_ready("A", "orders")
    stage.leave("A")
    ticket = stage.begin("delete_group", "g")
    stage.carry_out(stage.asked[0], failing=Error.COORDINATOR_NOT_AVAILABLE)
    assert stage.answers[ticket].error_code == Error.COORDINATOR_NOT_AVAILABLE
    stage.restart()
    assert ask(stage, "delete_group", "g").error_code == Error.NONE
    assert stage.started() == {}
    assert "g" not in stage.shard.groups


def test_a_group_that_somebody_joins_meanwhile_stays() -> None:
    """Its states are gone, and begin anew for the new member."""
    stage = ShareStage()
    stage.join_ready("A", "logs")
    stage.leave("A")
    ticket = stage.begin("delete_group", "g")
    stage.join("B", "logs")
    stage.carry_out_all()
    assert stage.answers[ticket].error_code == Error.NON_EMPTY_GROUP
    stage.heartbeat("B")
    stage.carry_out_all()
    stage.pass_time(1_000)
    stage.heartbeat("B")
    assert stage.assigned["B"] == {"logs": [0]}
