"""How a record becomes committed: the high-watermark protocol, acknowledgements, who may read."""

from __future__ import annotations

import pytest

from tests.replica.stories import check
from tests.settings import log_config


@pytest.mark.spec(
    "admin:RC-15",
    "slides:B03",
    "slides:B04",
    "slides:B09",
    "slides:B11",
    "slides:B12",
    "book1:R-07",
    "book1:R-08",
    "book2:J-13",
)
def test_the_five_states_of_the_high_watermark() -> None:
    """Append, copy, tell, advance, hear of it: a follower's high watermark is a round trip late."""
    check("""
        > elect 1
        > produce m0
        > fetch 2 3
        > fetch 2 3
        acked m0
        > fetch 2 3
        > show
        1 leads e0 m0 |
        2 m0 |
        3 m0 |
        > produce m1                  # 1: the leader has appended at offset 1
        > show
        1 leads e0 m0 | m1
        2 m0 |
        3 m0 |
        > fetch 2 3                   # 2: the followers fetch from 1 and append
        > show
        1 leads e0 m0 | m1
        2 m0 | m1
        3 m0 | m1
        > fetch 2                     # 3: they fetch from 2, which is empty, and so tell the leader
        > show
        1 leads e0 m0 | m1
        2 m0 | m1
        3 m0 | m1
        > fetch 3                     # 4: the last one lets the leader advance
        acked m1
        > show
        1 leads e0 m0 m1 |
        2 m0 | m1
        3 m0 | m1
        > fetch 2 3                   # 5: the next fetch, from 2 and empty, carries it
        > show
        1 leads e0 m0 m1 |
        2 m0 m1 |
        3 m0 m1 |
    """)


@pytest.mark.spec(
    "slides:B41", "book1:R-04", "book1:R-09", "book2:J-15", "book2:J-26", "admin:RC-14"
)
def test_acks_all_waits_for_every_in_sync_replica_and_no_majority() -> None:
    """Two of three have the record: that is a majority, and not enough."""
    check("""
        > elect 1
        > produce m0
        > fetch 2
        > fetch 2
        > show
        1 leads e0 | m0
        2 | m0
        3 |
        > fetch 3
        > fetch 3
        acked m0
    """)


@pytest.mark.spec("book1:R-13", "book2:J-16", "admin:RC-32")
def test_acks_1_is_told_by_the_leader_alone_and_may_be_lost_with_it() -> None:
    """The leader's own log is enough for acks=1; a failover before the first fetch loses it, and
    a producer that was not told resends.
    """
    check("""
        > elect 1
        > produce m0 acks=1
        acked m0
        > produce m1
        > kill 1
        failed m1 KAFKA_STORAGE_ERROR
        > lost 1
        > produce m1
        > fetch 3
        > fetch 3
        acked m1
        > show
        2 leads e1 m1 |
        3 | m1
        > start 1
        > fetch 1
        1 cut 2 to 0
        > fetch 1
        > show
        1 m1 |
        2 leads e1 m1 |
        3 | m1
    """)


@pytest.mark.spec("admin:RC-30", "slides:B21", "book2:J-24", "admin:RC-31")
def test_too_few_in_sync_replicas_refuse_before_the_append() -> None:
    """acks=all is refused, acks=1 is not, and what is there is read: the leader is read-only."""
    cluster = check(
        """
        > elect 1
        > produce m0
        > fetch 2 3
        > fetch 2 3
        acked m0
        > kill 2
        > lost 2
        > kill 3
        > lost 3
        > produce m1
        failed m1 NOT_ENOUGH_REPLICAS
        > produce m2 acks=1
        acked m2
        > show
        1 leads e0 m0 m2 |
    """,
        config=log_config(min_insync_replicas=2),
    )
    read = cluster.leader.partition.read(0, 1000, committed_only=False, at_least_one=True)
    assert len(read) > 0


@pytest.mark.spec("slides:B21")
def test_too_few_in_sync_replicas_are_told_after_the_append_if_they_left_meanwhile() -> None:
    """The records are in the leader's log and committed, but by fewer than were asked for."""
    check(
        """
        > elect 1
        > produce m0
        > kill 2
        > kill 3
        > lost 2
        > lost 3
        failed m0 NOT_ENOUGH_REPLICAS_AFTER_APPEND
        > show
        1 leads e0 m0 |
    """,
        config=log_config(min_insync_replicas=2),
    )


@pytest.mark.spec("admin:RC-31")
def test_without_a_minimum_the_leader_alone_is_all() -> None:
    """min.insync.replicas=1: when nobody else is in sync, acks=all means the leader."""
    check("""
        > elect 1
        > kill 2
        > lost 2
        > kill 3
        > lost 3
        > produce m0
        acked m0
    """)


@pytest.mark.spec("book1:R-12", "book2:J-32", "admin:RC-14")
def test_nobody_reads_past_the_high_watermark() -> None:
    """What is not committed is invisible to clients, on the leader and on a follower."""
    cluster = check("""
        > elect 1
        > produce m0 m1
        > fetch 2 3
        > produce m2
        > fetch 2
        > fetch 3
        acked m0
        acked m1
        > fetch 2
        > show
        1 leads e0 m0 m1 | m2
        2 m0 m1 | m2
        3 | m0 m1 m2
    """)
    for replica, readable in ((cluster[1], 2), (cluster[2], 2), (cluster[3], 0)):
        size = len(replica.data(readable))
        read = replica.partition.read(0, 1 << 20, committed_only=False, at_least_one=True)
        assert len(read) == size
        assert not replica.partition.read(
            readable, 1 << 20, committed_only=False, at_least_one=True
        )


def test_a_flush_that_the_policy_demands_is_part_of_the_commit() -> None:
    """flush.messages=1: neither the leader's copy counts before its flush nor a follower's."""
    check(
        """
        > elect 1
        > produce m0
        > fetch 2 3
        > fetch 2
        2 asks nothing
        > flush 2
        > flush 3
        > fetch 2 3
        > show
        1 leads e0 | m0
        2 | m0
        3 | m0
        > flush 1
        acked m0
        > produce m1 acks=1
        > flush 1
        acked m1
    """,
        config=log_config(flush_messages=1),
    )


def test_the_high_watermark_never_goes_back_over_a_failover() -> None:
    """A new leader begins with what it knew to be committed and learns the rest from followers."""
    check("""
        > elect 1
        > produce m0 m1
        > fetch 2 3
        > fetch 2 3
        acked m0
        acked m1
        > kill 1
        > lost 1
        > show
        2 leads e1 | m0 m1
        3 | m0 m1
        > fetch 3
        > show
        2 leads e1 m0 m1 |
        3 | m0 m1
        > fetch 3
        > show
        2 leads e1 m0 m1 |
        3 m0 m1 |
    """)


@pytest.mark.spec("book1:R-05", "slides:B10", "book2:J-14")
def test_what_was_acknowledged_is_read_after_every_failover_but_the_last() -> None:
    """A committed record lives as long as one in-sync replica does."""
    check("""
        > elect 1
        > produce m0
        > fetch 2 3
        > fetch 2 3
        acked m0
        > kill 1
        > lost 1
        > kill 2
        > lost 2
        > show
        3 leads e2 m0 |
        > produce m1
        acked m1
        > show
        3 leads e2 m0 m1 |
    """)


def test_a_deposed_leader_releases_its_producers() -> None:
    """Whoever waits on a leader that is none any more is told to look for the new one."""
    check("""
        > elect 1
        > produce m0
        > elect 2
        failed m0 NOT_LEADER_OR_FOLLOWER
    """)


def test_what_followers_told_an_epoch_ago_does_not_count() -> None:
    """A leader that is elected again asks anew: in between a follower may have followed others."""
    check("""
        > elect 1
        > produce m0
        > fetch 2
        > fetch 2
        > elect 1
        > fetch 3
        > fetch 3
        > show
        1 leads e1 | m0
        2 | m0
        3 | m0
        > fetch 2
        acked m0
    """)
