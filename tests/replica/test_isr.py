"""Who is in sync: leaving by lag, entering by having everything, and the time in between."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.errors import ClientFault, Error
from headrace.replica import ReplicaFetch
from headrace.replica.waiters import FetchWaiter
from tests.replica.cluster import LAG_TIME_MAX_MS, Cluster, batch
from tests.replica.stories import check


@pytest.mark.spec(
    "admin:RC-12", "slides:B07", "book1:R-10", "book1:R-11", "admin:RC-11", "admin:RC-34"
)
def test_a_follower_that_lags_leaves_and_returns_when_it_has_everything() -> None:
    """The leader drops who has not caught up within replica.lag.time.max.ms, and goes on."""
    check("""
        > elect 1
        > produce m0
        > fetch 2 3
        > fetch 2 3
        acked m0
        > produce m1
        > +30000
        > fetch 2
        > fetch 2
        > isr                         # not yet: it was caught up 30 s ago, not longer
        isr 1 2 3
        > +1
        > isr
        acked m1
        isr 1 2
        > fetch 3
        > isr
        isr 1 2
        > fetch 3
        > isr
        isr 1 2 3
    """)


@pytest.mark.spec("admin:RC-11")
def test_an_in_sync_replica_may_lack_what_is_not_committed() -> None:
    """A follower that has everything up to the high watermark stays, whatever the leader's end."""
    cluster = check("""
        > elect 1
        > produce m0 acks=1
        acked m0
        > produce m1 acks=1
        acked m1
        > +29999
        > isr
        isr 1 2 3
        > show
        1 leads e0 | m0 m1
        2 |
        3 |
    """)
    assert cluster.leader.partition.high_watermark == 0


def test_a_follower_that_keeps_pace_with_a_busy_leader_stays_in_sync() -> None:
    """It never reaches the end, but at each fetch it has what was the end at the one before."""
    cluster = Cluster(1, 2)
    cluster.elect(1)
    leader = cluster.leader.partition
    for _ in range(20):
        cluster.now_ms += 10_000
        leader.append(batch("x"), acks=1, now_ms=cluster.now_ms)
        cluster.fetch(2)
        leader.append(batch("y"), acks=1, now_ms=cluster.now_ms)
        assert cluster[2].log.log_end_offset < leader.log.log_end_offset
        assert cluster.settle_isr() is None


def test_a_follower_enters_the_isr_of_a_leader_that_never_rests() -> None:
    """The high watermark waits a moment for who has caught up, or nobody could ever join."""
    cluster = Cluster(1, 2)
    cluster.elect(1, [1])
    leader = cluster.leader.partition
    for _ in range(6):
        leader.append(batch("x"), acks=-1, now_ms=cluster.now_ms)
        cluster.fetch(2)
        leader.append(batch("y"), acks=-1, now_ms=cluster.now_ms)
        cluster.settle_isr()
    assert cluster.state.isr == (1, 2)


def test_nobody_waits_for_a_follower_that_caught_up_and_went_away() -> None:
    """A follower that is about to join holds the high watermark until it has lagged too long."""
    cluster = Cluster(1, 2)
    cluster.elect(1, [1])
    leader = cluster.leader.partition
    cluster.fetch(2)
    leader.append(batch("x"), acks=-1, now_ms=cluster.now_ms)
    assert leader.high_watermark == 0
    cluster[2].kill()
    cluster.now_ms += LAG_TIME_MAX_MS + 1
    assert cluster.settle_isr() is None
    assert leader.high_watermark == 1


def test_who_enters_has_what_an_absent_one_kept_back() -> None:
    """When nobody waits any longer for a follower, more is committed, and others may lack it."""
    cluster = Cluster(1, 2, 3)
    cluster.elect(1, [1])
    leader = cluster.leader.partition
    cluster.fetch(2)
    cluster.fetch(3)
    registered = cluster.epochs

    def wanted(*brokers: int) -> tuple[int, ...] | None:
        return leader.wanted_isr(
            cluster.now_ms,
            lag_time_max_ms=LAG_TIME_MAX_MS,
            broker_epochs={each: registered[each] for each in brokers},
        )

    assert wanted(1, 2) == (1, 2)  # 3 is not registered: nobody waits for it any longer
    leader.append(batch("x"), acks=-1, now_ms=cluster.now_ms)
    assert leader.high_watermark == 0  # 2 is waited for
    assert wanted(1, 3) is None
    assert leader.high_watermark == 1


def test_a_proposed_member_counts_before_it_is_confirmed() -> None:
    """The high watermark is the minimum over committed and proposed members: the proposal may
    have been written although the leader has not heard of it, and then the member may lead.
    """
    cluster = Cluster(1, 2)
    cluster.elect(1, [1])
    leader = cluster.leader.partition
    cluster.fetch(2)
    wanted = leader.wanted_isr(
        cluster.now_ms, lag_time_max_ms=LAG_TIME_MAX_MS, broker_epochs=cluster.epochs
    )
    assert wanted == (1, 2)
    leader.propose_isr(wanted)
    leader.append(batch("x"), acks=-1, now_ms=cluster.now_ms)
    assert leader.high_watermark == 0
    assert cluster.settle_isr() is None  # one proposal at a time
    # It was written; the follower is elected before the old leader hears anything.
    cluster[1].hears = False
    cluster.commit(replace(cluster.state, isr=(1, 2)))
    cluster.elect(2)
    assert leader.high_watermark == 0
    assert cluster[2].partition.high_watermark == 0


def test_a_refused_proposal_is_forgotten() -> None:
    """Somebody else changed the partition first: only the committed members count again, until a
    follower has caught up once more.
    """
    cluster = Cluster(1, 2)
    cluster.elect(1, [1])
    leader = cluster.leader.partition
    cluster.fetch(2)
    leader.propose_isr((1, 2))
    leader.append(batch("x"), acks=-1, now_ms=cluster.now_ms)
    assert leader.high_watermark == 0
    leader.settle_isr()
    assert leader.high_watermark == 1


def test_a_member_that_is_to_leave_counts_until_that_is_committed() -> None:
    """A shrink that is only proposed may never be written, and the member may be elected."""
    cluster = Cluster(1, 2)
    cluster.elect(1)
    leader = cluster.leader.partition
    leader.append(batch("x"), acks=-1, now_ms=cluster.now_ms)
    leader.propose_isr((1,))
    leader.append(batch("y"), acks=-1, now_ms=cluster.now_ms)
    assert leader.high_watermark == 0
    cluster.commit(replace(cluster.state, isr=(1,)))
    assert leader.high_watermark == 2


def test_a_follower_of_an_earlier_life_does_not_enter() -> None:
    """Its broker has registered anew since: what it told then says nothing about what it has."""
    cluster = Cluster(1, 2)
    cluster.elect(1, [1])
    cluster.fetch(2)
    cluster.fetch(2)
    cluster[2].crash()
    cluster[2].start()  # registered, but it has not fetched yet
    assert cluster.settle_isr() is None
    cluster.apply(cluster[2])
    cluster.fetch(2)
    assert cluster.settle_isr() == (1, 2)


def test_a_late_fetch_of_an_earlier_life_is_refused() -> None:
    """It would tell the leader of records that a crash has taken."""
    cluster = Cluster(1, 2)
    cluster.elect(1, [1])
    leader = cluster.leader.partition
    late = ReplicaFetch(2, cluster[2].epoch, 0, -1, 0)
    cluster[2].crash()
    cluster.start(2)
    cluster.fetch(2)
    with pytest.raises(ClientFault) as refused:
        leader.read_for_replica(late, 1000, at_least_one=True, now_ms=cluster.now_ms)
    assert refused.value.error == Error.NOT_LEADER_OR_FOLLOWER


def test_a_stranger_is_no_follower() -> None:
    """Whoever is not assigned may be news that the leader has not heard of yet: try again."""
    cluster = Cluster(1, 2)
    cluster.elect(1)
    with pytest.raises(ClientFault) as refused:
        cluster.leader.partition.read_for_replica(
            ReplicaFetch(9, 9, 0, -1, 0), 1000, at_least_one=True, now_ms=cluster.now_ms
        )
    assert refused.value.error == Error.UNKNOWN_LEADER_EPOCH


def test_a_follower_below_the_start_of_the_epoch_does_not_enter() -> None:
    """A new leader's high watermark may be old; who lacks what the leader had when it was elected
    may lack what is committed.
    """
    cluster = check("""
        > elect 1
        > produce m0 m1
        > fetch 2
        > fetch 2
        > kill 3
        > lost 3
        acked m0
        acked m1
        > start 3
        > kill 1
        > lost 1
        > show
        2 leads e1 m0 m1 |
        3 |
        > fetch 3
        > isr
        isr 2
        > fetch 3
        > isr
        isr 2 3
    """)
    leader = cluster.leader.partition
    # The same with a high watermark that is not at the end: another member has not fetched yet.
    cluster = Cluster(1, 2, 3)
    cluster.elect(1)
    leader = cluster.leader.partition
    for value in "ab":
        leader.append(batch(value), acks=1, now_ms=cluster.now_ms)
    cluster.fetch(2)
    cluster.elect(2, [1, 2])
    leader = cluster.leader.partition
    assert (leader.high_watermark, leader.log.log_end_offset) == (0, 2)
    fetch = ReplicaFetch(3, cluster[3].epoch, 0, -1, 0)
    read = leader.read_for_replica(fetch, 1000, at_least_one=True, now_ms=cluster.now_ms)
    assert not read.can_join
    assert cluster.settle_isr() is None
    caught_up = fetch._replace(offset=2, last_fetched_epoch=0)
    read = leader.read_for_replica(caught_up, 1000, at_least_one=True, now_ms=cluster.now_ms)
    assert read.can_join
    assert cluster.settle_isr() == (1, 2, 3)


def test_news_that_are_older_than_what_is_known_change_nothing() -> None:
    """Watches may be read in any order; the partition's epochs decide."""
    cluster = Cluster(1, 2)
    cluster.elect(1)
    old = cluster.state
    cluster.commit(replace(cluster.state, isr=(1,)))
    leader = cluster.leader.partition
    leader.lead(old, cluster.now_ms)
    assert leader.leadership.isr == (1,)
    cluster.elect(2, [1, 2])
    leader.lead(old, cluster.now_ms)
    assert not leader.is_leader


def test_appends_wake_the_followers_that_wait() -> None:
    """A parked fetch of a follower counts appended bytes, not committed ones."""
    cluster = Cluster(1, 2)
    cluster.elect(1)
    leader = cluster.leader.partition
    woken: list[str] = []
    leader.replica_waiters.append(FetchWaiter(1, lambda: woken.append("follower")))
    leader.fetch_waiters.append(FetchWaiter(1, lambda: woken.append("client")))
    leader.append(batch("x"), acks=1, now_ms=cluster.now_ms)
    assert woken == ["follower"]
    cluster.fetch(2)
    cluster.fetch(2)
    assert woken == ["follower", "client"]


def test_a_client_waits_for_as_many_committed_bytes_as_it_asked_for() -> None:
    """fetch.min.bytes counts what became readable, which is not what was appended."""
    cluster = Cluster(1, 2)
    cluster.elect(1)
    leader = cluster.leader.partition
    woken: list[int] = []
    size = len(batch("x"))
    leader.fetch_waiters.append(FetchWaiter(2 * size, lambda: woken.append(1)))
    leader.append(batch("x"), acks=1, now_ms=cluster.now_ms)
    cluster.fetch(2)
    leader.append(batch("y"), acks=1, now_ms=cluster.now_ms)
    cluster.fetch(2)
    assert leader.high_watermark == 1
    assert not woken
    cluster.fetch(2)
    assert woken == [1]
