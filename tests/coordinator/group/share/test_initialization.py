"""State of share partitions begins before anybody reads them, whatever is lost in between."""

from __future__ import annotations

from headrace.errors import Error
from headrace.types import SharePartitionKey
from tests.coordinator.group.share.stage import ShareStage


def test_a_failure_is_repeated_in_a_new_epoch() -> None:
    """Not at once; and the first attempt, should it still arrive, is fenced by the second."""
    stage = ShareStage()
    stage.join("A", "logs")
    (first,) = stage.asked
    stage.carry_out(first, failing=Error.NETWORK_EXCEPTION)
    answer = stage.heartbeat("A")
    assert (answer.heartbeat_interval_ms, stage.asked) == (1_000, [])
    stage.pass_time(1_000)
    stage.heartbeat("A")
    stage.carry_out_all()
    assert stage.started() == {"logs-0": (2, -1)}
    assert set(stage.execute(first).values()) == {Error.FENCED_STATE_EPOCH}
    stage.heartbeat("A")
    assert stage.assigned["A"] == {"logs": [0]}


def test_a_coordinator_that_moves_asks_again() -> None:
    """The log says what was asked for; whoever loads it repeats that in a new epoch."""
    stage = ShareStage()
    stage.join("A", "logs")
    first = stage.asked.pop()
    outcomes = stage.execute(first)
    stage.restart()
    stage.tell(first, outcomes)  # to the new one, which has not asked
    assert stage.group.partitions.initialized == {}
    stage.heartbeat("A")
    (second,) = stage.asked
    stage.carry_out(second)
    assert stage.started() == {"logs-0": (2, -1)}
    stage.heartbeat("A")
    assert stage.assigned["A"] == {"logs": [0]}


def test_a_late_answer_to_an_older_question_says_nothing() -> None:
    """The younger question is about to begin the state anew: nobody may read before that."""
    stage = ShareStage()
    stage.join("A", "logs")
    first = stage.asked.pop()
    stage.restart()
    stage.heartbeat("A")
    (second,) = stage.asked
    stage.tell(first, stage.execute(first))
    stage.heartbeat("A")
    assert stage.assigned["A"] == {}
    stage.carry_out(second)
    stage.heartbeat("A")
    assert stage.assigned["A"] == {"logs": [0]}


def test_what_is_ready_is_assigned_while_the_rest_is_repeated() -> None:
    """One share coordinator of several does not answer."""
    stage = ShareStage()
    stage.join("A", "orders")
    change = stage.asked.pop()
    outcomes = stage.execute(change)
    outcomes[max(outcomes)] = Error.COORDINATOR_NOT_AVAILABLE
    stage.tell(change, outcomes)
    stage.heartbeat("A")
    assert stage.assigned["A"] == {"orders": [0]}
    stage.pass_time(1_000)
    stage.heartbeat("A")
    stage.carry_out_all()
    stage.pass_time(1_000)
    stage.heartbeat("A")
    assert stage.assigned["A"] == {"orders": [0, 1]}


def test_a_topic_that_grows() -> None:
    """New partitions get state, and then readers; the others are left alone."""
    stage = ShareStage()
    stage.join_ready("A", "logs")
    topic_id = stage.topics.topic_id("logs")
    assert topic_id is not None
    stage.topics._topics["logs"] = (topic_id, 2)
    stage.change_topics()
    stage.heartbeat("A")
    (change,) = stage.asked
    assert dict(change.start_offsets) == {SharePartitionKey("g", topic_id, 1): -1}  # type: ignore[union-attr]
    stage.carry_out_all()
    stage.pass_time(1_000)
    stage.heartbeat("A")
    assert stage.assigned["A"] == {"logs": [0, 1]}
    assert stage.started()["logs-0"] == (1, -1)


def test_a_topic_that_appears() -> None:
    """A subscription may be earlier than its topic."""
    stage = ShareStage()
    stage.join("A", "later")
    assert not stage.asked
    stage.topics.create("later", 1)
    stage.change_topics()
    stage.heartbeat("A")
    stage.carry_out_all()
    stage.heartbeat("A")
    assert stage.assigned["A"] == {"later": [0]}


def test_a_topic_that_is_deleted() -> None:
    """Its state goes with it, and comes back as another if a topic of the same name does."""
    stage = ShareStage()
    stage.join_ready("A", "logs")
    stage.topics.delete("logs")
    stage.change_topics()
    assert stage.group.partitions.topic_ids() == set()
    stage.carry_out_all()
    stage.pass_time(1_000)
    stage.heartbeat("A")
    assert stage.assigned["A"] == {}
    stage.topics.create("logs", 1)
    stage.change_topics()
    stage.heartbeat("A")
    stage.carry_out_all()
    stage.pass_time(1_000)
    stage.heartbeat("A")
    assert stage.assigned["A"] == {"logs": [0]}


def test_a_topic_that_went_while_nobody_led_the_group() -> None:
    """What could not be noticed is tidied up when offsets are."""
    stage = ShareStage()
    stage.join_ready("A", "orders", "logs")
    stage.topics.delete("logs")
    stage.restart()
    stage.change_topics()
    assert len(stage.group.partitions.topic_ids()) == 2
    stage.leave("A")
    stage.pass_time(600_000)
    assert len(stage.group.partitions.topic_ids()) == 1


def test_a_topic_nobody_wants_any_more_keeps_its_state() -> None:
    """A member that subscribes again goes on where the group was."""
    stage = ShareStage()
    stage.join_ready("A", "orders", "logs")
    stage.heartbeat("A", "orders")
    assert stage.assigned["A"] == {"orders": [0, 1]}
    stage.pass_time(1_000)
    stage.heartbeat("A", "orders", "logs")
    assert stage.assigned["A"] == {"orders": [0, 1], "logs": [0]}
    assert not stage.asked
