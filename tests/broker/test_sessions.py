"""Fetch sessions as a table of what a consumer asked for and was told (KIP-227)."""

from __future__ import annotations

from itertools import count

from headrace.broker.sessions import FetchSessions
from headrace.errors import Error
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic


def sessions(capacity: int = 10) -> FetchSessions:
    ids = count(100)
    return FetchSessions(capacity, evict_after_ms=1000, draw_id=lambda: next(ids))


def request(
    session_id: int = 0,
    epoch: int = -1,
    partitions: dict[int, int] | None = None,
    forgotten: list[int] | None = None,
) -> FetchRequest:
    """A fetch of topic `t`: partition → offset."""
    asked = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1000)
        for index, offset in (partitions or {}).items()
    ]
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        session_id=session_id,
        session_epoch=epoch,
        topics=[FetchTopic(topic="t", partitions=asked)] if asked else [],
        forgotten_topics_data=[ForgottenTopic(topic="t", partitions=forgotten)]
        if forgotten
        else [],
    )


def test_a_fetch_without_session_stands_alone() -> None:
    """Session epoch -1 opens nothing."""
    table = sessions()
    plan = table.resolve(request(partitions={0: 5}), now_ms=0)
    assert (plan.error, plan.session, plan.incremental) == (Error.NONE, None, False)
    assert [(p.index, p.fetch_offset) for p in plan.partitions] == [(0, 5)]
    assert len(table) == 0


def test_an_incremental_fetch_names_changes_only() -> None:
    """What is not repeated is remembered; what is forgotten is gone; new offsets replace old."""
    table = sessions()
    opened = table.resolve(request(epoch=0, partitions={0: 5, 1: 6, 2: 7}), now_ms=0)
    assert opened.session is not None
    session_id = opened.session.id
    plan = table.resolve(request(session_id, 1, {1: 60}, forgotten=[2]), now_ms=1)
    assert plan.incremental
    assert [(p.index, p.fetch_offset) for p in plan.partitions] == [(0, 5), (1, 60)]
    plan = table.resolve(request(session_id, 2), now_ms=2)
    assert [(p.index, p.fetch_offset) for p in plan.partitions] == [(0, 5), (1, 60)]


def test_wrong_epochs_and_unknown_sessions_are_told_apart() -> None:
    """A repeated or skipped epoch is INVALID_FETCH_SESSION_EPOCH, an unknown id is NOT_FOUND."""
    table = sessions()
    opened = table.resolve(request(epoch=0, partitions={0: 0}), now_ms=0)
    assert opened.session is not None
    session_id = opened.session.id
    assert table.resolve(request(session_id, 2), 0).error == Error.INVALID_FETCH_SESSION_EPOCH
    assert table.resolve(request(session_id, 1), 0).error == Error.NONE
    assert table.resolve(request(session_id, 1), 0).error == Error.INVALID_FETCH_SESSION_EPOCH
    assert table.resolve(request(999, 1), 0).error == Error.FETCH_SESSION_ID_NOT_FOUND


def test_the_final_epoch_closes_the_session() -> None:
    """Session epoch -1 with an id ends that session."""
    table = sessions()
    opened = table.resolve(request(epoch=0, partitions={0: 0}), now_ms=0)
    assert opened.session is not None
    table.resolve(request(opened.session.id, -1, {0: 0}), now_ms=0)
    assert len(table) == 0


def test_the_epoch_wraps_to_one() -> None:
    """After 2^31 - 1 comes 1, because 0 would ask for a new session."""
    table = sessions()
    opened = table.resolve(request(epoch=0, partitions={0: 0}), now_ms=0)
    assert opened.session is not None
    opened.session.epoch = 0x7FFFFFFF
    assert table.resolve(request(opened.session.id, 0x7FFFFFFF), 0).error == Error.NONE
    assert opened.session.epoch == 1


def test_a_full_table_gives_sessions_only_in_place_of_idle_ones() -> None:
    """No session is stolen from an active consumer; an idle one makes room."""
    table = sessions(capacity=2)
    for _ in range(2):
        assert table.resolve(request(epoch=0, partitions={0: 0}), now_ms=0).session is not None
    refused = table.resolve(request(epoch=0, partitions={0: 0}), now_ms=500)
    assert refused.session is None
    assert len(refused.partitions) == 1
    assert table.resolve(request(epoch=0, partitions={0: 0}), now_ms=1500).session is not None
    assert len(table) == 2
