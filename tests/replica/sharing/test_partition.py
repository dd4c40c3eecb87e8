"""A share partition: what is acknowledged, locked, kept and delivered again."""

from __future__ import annotations

import pytest

from headrace.errors import ClientFault, Error
from headrace.replica.sharing.partition import SharePartition
from headrace.replica.sharing.states import (
    Acknowledgement,
    Acquired,
    RecordState,
    SavedBatch,
    ShareLimits,
    StateWrite,
)
from tests.replica.sharing.log_batches import LIMITS, acquire, log, say

AVAILABLE, ACKNOWLEDGED, ARCHIVED = (
    RecordState.AVAILABLE,
    RecordState.ACKNOWLEDGED,
    RecordState.ARCHIVED,
)


def keep(share: SharePartition, error: Error = Error.NONE) -> StateWrite | None:
    write = share.begin_write()
    if write is not None:
        share.end_write(error)
    return write


def test_accepted_records_are_done() -> None:
    """The start offset passes them, and it is all that is kept of them."""
    share = SharePartition(0)
    acquire(share, "a", log(10))
    assert share.acknowledge("a", say(0, 9, 1), "t", 0, LIMITS)
    assert keep(share) == StateWrite(10, 0, [])
    assert share.start_offset == 10


def test_nobody_is_told_before_it_is_kept() -> None:
    """A ticket comes back with the end of the write, and until then nothing has changed hands."""
    share = SharePartition(0)
    acquire(share, "a", log(10))
    share.acknowledge("a", say(0, 9, 2), "ticket", 0, LIMITS)
    assert acquire(share, "b", log(10)) == []
    share.begin_write()
    assert acquire(share, "b", log(10)) == []
    assert share.end_write(Error.NONE) == [("ticket", Error.NONE)]
    assert acquire(share, "b", log(10)) == [Acquired(0, 9, 2)]


def test_one_write_at_a_time_takes_all_that_waits() -> None:
    """Acknowledgements that come during a write are kept together by the next one."""
    share = SharePartition(0)
    acquire(share, "a", log(10))
    share.acknowledge("a", say(0, 0, 1), "first", 0, LIMITS)
    share.begin_write()
    share.acknowledge("a", say(1, 1, 1), "second", 0, LIMITS)
    share.acknowledge("a", say(2, 2, 1), "third", 0, LIMITS)
    assert share.begin_write() is None
    assert share.end_write(Error.NONE) == [("first", Error.NONE)]
    write = share.begin_write()
    assert write is not None
    assert write.start_offset == 3
    assert share.end_write(Error.NONE) == [("second", Error.NONE), ("third", Error.NONE)]


def test_a_batch_is_split_by_what_is_said_of_its_records() -> None:
    """Accepted, released, rejected and missing ones go their ways, offset by offset."""
    share = SharePartition(0)
    acquire(share, "a", log(6))
    share.acknowledge("a", say(0, 5, 2, 1, 1, 3, 0, 2), "t", 0, LIMITS)
    write = keep(share)
    assert write == StateWrite(
        0,
        4,
        [
            SavedBatch(0, 0, AVAILABLE, 1),
            SavedBatch(1, 2, ACKNOWLEDGED, 1),
            SavedBatch(3, 3, ARCHIVED, 1),
            SavedBatch(4, 4, ARCHIVED, 1),
            SavedBatch(5, 5, AVAILABLE, 1),
        ],
    )
    assert acquire(share, "b", log(6)) == [Acquired(0, 0, 2), Acquired(5, 5, 2)]


def test_a_failed_write_leaves_the_records_with_their_holder() -> None:
    """The member is told, and may say it again; its lock runs on."""
    share = SharePartition(0)
    acquire(share, "a", log(10))
    share.acknowledge("a", say(0, 9, 1), "t", 0, LIMITS)
    share.begin_write()
    assert share.end_write(Error.COORDINATOR_NOT_AVAILABLE) == [
        ("t", Error.COORDINATOR_NOT_AVAILABLE)
    ]
    assert share.wake_at_ms == 1000
    share.acknowledge("a", say(0, 9, 1), "t", 500, LIMITS)
    assert keep(share) == StateWrite(10, 0, [])


@pytest.mark.parametrize(
    ("member", "said", "error"),
    [
        ("b", say(0, 9, 1), Error.INVALID_RECORD_STATE),  # another one's
        ("a", say(5, 12, 1), Error.INVALID_RECORD_STATE),  # partly another one's
        ("a", say(5, 40, 1), Error.INVALID_REQUEST),  # never acquired
    ],
)
def test_wrong_words_change_nothing(member: str, said: list[Acknowledgement], error: Error) -> None:
    """A request is taken as a whole or not at all."""
    share = SharePartition(0)
    acquire(share, "a", log(10), records=1)
    acquire(share, "c", log(10, 10), records=1)
    with pytest.raises(ClientFault) as caught:
        share.acknowledge(member, [*say(0, 0, 1), *said][-1:], "t", 0, LIMITS)
    assert caught.value.error is error
    assert share.begin_write() is None
    assert share.acknowledge("a", say(0, 9, 1), "t", 0, LIMITS)


def test_records_are_acknowledged_once() -> None:
    """What is on its way to be kept, or not held any more, is not the member's to speak of."""
    share = SharePartition(0)
    acquire(share, "a", log(10))
    share.acknowledge("a", say(1, 1, 1), "t", 0, LIMITS)
    with pytest.raises(ClientFault):
        share.acknowledge("a", say(1, 1, 2), "t", 0, LIMITS)
    keep(share)
    with pytest.raises(ClientFault):
        share.acknowledge("a", say(1, 1, 2), "t", 0, LIMITS)


def test_words_come_too_late_for_what_is_done() -> None:
    """Somebody else has done it: only one is told that its work was accepted."""
    share = SharePartition(0)
    acquire(share, "a", log(2))
    share.on_time(1000, LIMITS)
    acquire(share, "b", log(2), now_ms=1000)
    share.acknowledge("b", say(0, 1, 1), "t", 1000, LIMITS)
    keep(share)
    assert share.start_offset == 2
    with pytest.raises(ClientFault) as caught:
        share.acknowledge("a", say(0, 1, 1), "t", 1000, LIMITS)
    assert caught.value.error is Error.INVALID_RECORD_STATE


def test_words_about_deleted_records_are_ignored() -> None:
    """They are answered at once, without error."""
    share = SharePartition(0)
    share.on_log_start(100)
    assert not share.acknowledge("a", say(50, 60, 1), "t", 0, LIMITS)


def test_a_lock_expires() -> None:
    """The record is free at once, with its delivery counted, and the holder is too late."""
    share = SharePartition(0)
    acquire(share, "a", log(10))
    assert share.wake_at_ms == 1000
    assert not share.on_time(999, LIMITS)
    assert share.on_time(1000, LIMITS)
    with pytest.raises(ClientFault):
        share.acknowledge("a", say(0, 0, 1), "t", 1000, LIMITS)
    assert acquire(share, "b", log(10), now_ms=1000) == [Acquired(0, 9, 2)]
    assert keep(share) == StateWrite(0, 0, [SavedBatch(0, 9, AVAILABLE, 1)])


def test_a_lock_is_renewed() -> None:
    """The holder has another whole lock duration from now, and nothing is to be kept."""
    share = SharePartition(0)
    acquire(share, "a", log(10))
    assert not share.acknowledge("a", say(0, 4, 4), "t", 900, LIMITS)
    assert share.on_time(1000, LIMITS)
    assert acquire(share, "b", log(10), now_ms=1000) == [Acquired(5, 9, 2)]
    assert share.wake_at_ms == 1900
    assert share.on_time(1900, LIMITS)


def test_renewing_can_be_forbidden() -> None:
    """`share.renew.acknowledge.enable=false` is an INVALID_REQUEST for those who try."""
    share = SharePartition(0)
    acquire(share, "a", log(10))
    with pytest.raises(ClientFault):
        share.acknowledge("a", say(0, 4, 4), "t", 0, ShareLimits(renew_enabled=False))


def test_a_record_is_given_up_after_its_last_delivery() -> None:
    """Released or timed out at the limit, it is archived and the start offset passes it."""
    share = SharePartition(0)
    twice = ShareLimits(delivery_count_limit=2, lock_duration_ms=1000)
    acquire(share, "a", log(2))
    share.acknowledge("a", say(0, 1, 2), "t", 0, twice)
    keep(share)
    acquire(share, "a", log(2), limits=twice)
    share.acknowledge("a", say(0, 0, 2), "t", 0, twice)
    assert share.on_time(1000, twice)  # offset 1: its lock expires
    assert keep(share) == StateWrite(2, 0, [])
    assert acquire(share, "b", log(2)) == []


def test_a_member_that_goes_leaves_its_records() -> None:
    """They are free when that is kept; those of others stay where they are."""
    share = SharePartition(0)
    acquire(share, "a", log(5), records=1)
    acquire(share, "b", log(5, 5), records=1)
    assert share.release("a", None, LIMITS)
    assert keep(share) == StateWrite(0, 0, [SavedBatch(0, 4, AVAILABLE, 1)])
    assert acquire(share, "c", log(5, 5)) == [Acquired(0, 4, 2)]
    assert not share.release("a", None, LIMITS)


def test_records_that_the_log_lost_are_done() -> None:
    """The start follows the log's, whoever held what was deleted, and may still speak of it."""
    share = SharePartition(0)
    acquire(share, "a", log(10))
    share.on_log_start(4)
    assert share.acknowledge("a", say(0, 9, 1), "t", 0, LIMITS)
    assert keep(share) == StateWrite(10, 0, [])
    share.on_log_start(50)
    assert share.next_offset(LIMITS) == 50


def test_a_new_leader_goes_on_with_what_was_kept() -> None:
    """Gaps between the batches were acquired at most: they are free, as for the first time."""
    kept = [SavedBatch(3, 4, ACKNOWLEDGED, 1), SavedBatch(7, 7, AVAILABLE, 4)]
    share = SharePartition(2, kept)
    got = acquire(share, "a", log(10))
    assert got == [Acquired(2, 2, 1), Acquired(5, 6, 1)], "7 goes alone for the last time"
    assert share.start_offset == 2


def test_leading_batches_that_are_done_move_the_start() -> None:
    """As another broker may have kept them."""
    share = SharePartition(0, [SavedBatch(0, 4, ARCHIVED, 5), SavedBatch(5, 9, ACKNOWLEDGED, 1)])
    assert share.start_offset == 10


def test_who_waits_is_told_when_leadership_ends() -> None:
    """Neither what is being written nor what waits behind it gets lost without a word."""
    share = SharePartition(0)
    acquire(share, "a", log(10))
    share.acknowledge("a", say(0, 0, 1), "first", 0, LIMITS)
    share.begin_write()
    share.acknowledge("a", say(1, 1, 1), "second", 0, LIMITS)
    told = share.abandon(Error.NOT_LEADER_OR_FOLLOWER)
    assert [ticket for ticket, _ in told] == ["first", "second"]


def test_where_a_group_begins_is_remembered() -> None:
    """A start that was not kept yet is written, so that the next leader begins there too."""
    share = SharePartition(40, saved_start=-1)
    assert keep(share) == StateWrite(40, 0, [])
    assert share.begin_write() is None
