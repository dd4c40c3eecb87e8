"""How replicas agree again after a failover: by leader epochs, and never by high watermarks."""

from __future__ import annotations

import pytest

from headrace.runtime.disk import read_all
from tests.replica.cluster import batch
from tests.replica.stories import check


@pytest.mark.spec("admin:RC-18", "admin:RC-16", "admin:RC-17")
def test_epoch_truncation_without_idempotence() -> None:
    """The vector of the administration course: A leads, dies, returns, and leads again."""
    cluster = check("""
        > elect 1
        > produce m0
        > fetch 2 3
        > fetch 2 3
        acked m0
        > fetch 2 3
        > produce m1
        > fetch 2
        > produce m2
        > show
        1 leads e0 m0 | m1 m2
        2 m0 | m1
        3 m0 |
        > kill 1
        failed m1 KAFKA_STORAGE_ERROR
        failed m2 KAFKA_STORAGE_ERROR
        > lost 1
        > epochs 2
        epochs (0,0) (1,2)
        > fetch 3
        > fetch 3
        > show
        2 leads e1 m0 m1 |
        3 m0 | m1
        > fetch 3
        > show
        2 leads e1 m0 m1 |
        3 m0 m1 |
        > produce m1 m2
        > fetch 3
        > fetch 3
        acked m1
        acked m2
        > show
        2 leads e1 m0 m1 m1 m2 |
        3 m0 m1 | m1 m2
        > start 1
        > fetch 1
        1 cut 3 to 2
        > fetch 1
        > fetch 1 3
        > isr
        isr 2 3 1
        > fetch 1 3
        > show
        1 m0 m1 m1 m2 |
        2 leads e1 m0 m1 m1 m2 |
        3 m0 m1 m1 m2 |
        > elect 1
        > fetch 2 3
        > epochs 1
        epochs (0,0) (1,2) (2,4)
    """)
    cluster.leader.partition.append(batch("m3"), acks=-1, now_ms=cluster.now_ms)
    for _ in range(3):
        cluster.fetch(2)
        cluster.fetch(3)
    for replica in cluster.replicas.values():
        assert replica.values() == ["m0", "m1", "m1", "m2", "m3"]
        assert replica.data(5) == cluster[1].data(5)
        path = "/data/orders-0/leader-epoch-checkpoint"
        assert read_all(replica.disk, path) == b"0\n3\n0 0\n1 2\n2 4\n"


@pytest.mark.spec("admin:RC-19")
def test_epoch_truncation_with_idempotence() -> None:
    """The same, and the new leader knows the resent m1 by its sequence."""
    check("""
        > elect 1
        > produce m0 producer
        > fetch 2 3
        > fetch 2 3
        acked m0
        > produce m1 producer
        > fetch 2
        > produce m2 producer
        > kill 1
        failed m1 KAFKA_STORAGE_ERROR
        failed m2 KAFKA_STORAGE_ERROR
        > lost 1
        > produce m1 m2 producer
        > fetch 3
        > fetch 3
        acked m1
        acked m2
        > start 1
        > fetch 1
        1 cut 3 to 2
        > fetch 1
        > fetch 1
        > isr
        isr 2 3 1
        > elect 1
        > epochs 1
        epochs (0,0) (1,2) (2,3)
        > show
        1 leads e2 m0 m1 m2 |
        2 m0 m1 m2 |
        3 m0 | m1 m2
    """)


def test_high_watermark_truncation_would_lose_what_is_committed() -> None:
    """KIP-101, first scenario: a follower restarts with an old high watermark and becomes leader.

    Cut to its high watermark it would lose m1, which the producer was told is committed.
    """
    check(
        """
        > elect 1
        > produce m0
        > fetch 2
        > fetch 2
        acked m0
        > fetch 2
        > checkpoint 2
        > produce m1
        > fetch 2
        > fetch 2
        acked m1
        > kill 2                      # before it hears that m1 is committed
        > lost 2
        > start 2
        > show
        1 leads e0 m0 m1 |
        2 m0 | m1
        > fetch 2
        > show
        1 leads e0 m0 m1 |
        2 m0 m1 |
        > isr
        isr 1 2
        > kill 1
        > lost 1
        > show
        2 leads e1 m0 m1 |
    """,
        brokers=2,
    )


def test_a_returning_leader_does_not_keep_records_that_others_replaced() -> None:
    """KIP-101, second scenario: both lose power, and the other one writes at the same offset.

    By high watermarks alone the logs would differ for ever at offset 1.
    """
    cluster = check(
        """
        > elect 1
        > produce m0
        > fetch 2
        > flush 1
        > flush 2
        > fetch 2
        acked m0
        > fetch 2
        > produce m1 acks=1
        acked m1
        > fetch 2
        > flush 1                     # 1 has m1 on its disk, 2 does not
        > checkpoint 1
        > checkpoint 2
        > crash 2
        > crash 1
        > start 2
        > elect 2 unclean
        > produce m2
        acked m2
        > start 1
        > show
        1 m0 | m1
        2 leads e1 m0 m2 |
        > fetch 1
        1 cut 2 to 1
        > fetch 1
        > fetch 1
        > show
        1 m0 m2 |
        2 leads e1 m0 m2 |
    """,
        brokers=2,
    )
    assert cluster[1].data(2) == cluster[2].data(2)


def test_fast_leader_changes_are_untangled_epoch_by_epoch() -> None:
    """KIP-279: a follower that does not know the epoch which the leader names asks again with an
    earlier one, and both end with the same records.
    """
    cluster = check(
        """
        > elect 1
        > produce a0 acks=1
        acked a0
        > fetch 2
        > fetch 2
        > kill 2
        > elect 1 unclean             # 1 writes alone in epoch 1
        > produce a1 a2 acks=1
        acked a1
        acked a2
        > kill 1
        > start 2
        > elect 2 unclean             # 2 writes alone in epoch 2, then 1 in 3, then 2 again in 4
        > produce b1 acks=1
        acked b1
        > kill 2
        > start 1
        > elect 1 unclean
        > produce c3 acks=1
        acked c3
        > kill 1
        > start 2
        > elect 2 unclean
        > produce d2 acks=1
        acked d2
        > start 1
        > epochs 1
        epochs (0,0) (1,1) (3,3)
        > epochs 2
        epochs (0,0) (2,1) (4,2)
        > fetch 1
        1 cut 4 to 3
        > fetch 1
        1 cut 3 to 1
        > fetch 1
        > fetch 1
        > show
        1 a0 b1 d2 |
        2 leads e4 a0 b1 d2 |
        > epochs 1
        epochs (0,0) (2,1) (4,2)
    """,
        brokers=2,
    )
    assert cluster[1].data(3) == cluster[2].data(3)


def test_an_epoch_without_records_does_not_stand_in_the_way() -> None:
    """A leader that wrote nothing in its epoch follows one that never heard of it."""
    check("""
        > elect 1
        > produce m0 m1
        > fetch 2
        > fetch 2
        > fetch 3
        > kill 1
        failed m0 KAFKA_STORAGE_ERROR
        failed m1 KAFKA_STORAGE_ERROR
        > deaf 3
        > lost 1
        > epochs 2
        epochs (0,0) (1,2)
        > elect 3
        > hear 3
        > fetch 2
        2 cut 2 to 2
        > epochs 2
        epochs (0,0)
        > fetch 2
        > produce m2
        > fetch 2
        > fetch 2
        acked m2
        > epochs 2
        epochs (0,0) (2,2)
        > show
        2 m0 m1 | m2
        3 leads e2 m0 m1 m2 |
    """)


@pytest.mark.spec("slides:B16", "book1:R-11")
def test_a_replica_that_lost_its_unflushed_records_catches_up_before_it_is_in_sync() -> None:
    """What a power cut took is copied again; until then the replica is no candidate."""
    check("""
        > elect 1
        > produce m0 m1 m2
        > fetch 2 3
        > fetch 2 3
        acked m0
        acked m1
        acked m2
        > crash 2
        > lost 2
        > start 2
        > show
        1 leads e0 m0 m1 m2 |
        2 |
        3 | m0 m1 m2
        > isr
        isr 1 3
        > fetch 2
        > isr
        isr 1 3
        > fetch 2
        > isr
        isr 1 3 2
        > fetch 2
        > show
        1 leads e0 m0 m1 m2 |
        2 m0 m1 m2 |
        3 | m0 m1 m2
    """)


def test_an_unclean_election_may_cut_below_the_high_watermark_and_says_so() -> None:
    """With unclean.leader.election.enable a lagging replica may lead; others follow it, losing."""
    cluster = check("""
        > elect 1
        > produce m0
        > fetch 2
        > fetch 2
        > kill 3
        > lost 3
        acked m0
        > fetch 2
        > kill 1
        > start 3
        > elect 3 unclean
        > show
        2 m0 |
        3 leads e1 |
        > produce x0
        acked x0
        > fetch 2
        2 cut 1 to 0 below its high watermark
        > fetch 2
        > show
        2 x0 |
        3 leads e1 x0 |
    """)
    assert cluster[2].values() == ["x0"]


def test_a_follower_of_an_old_epoch_is_fenced_until_it_hears() -> None:
    """KIP-320: neither an older nor a newer view of the leadership is served."""
    check("""
        > elect 1
        > produce m0
        > deaf 2
        > elect 1
        > fetch 2
        2 pauses FENCED_LEADER_EPOCH
        > hear 2
        > deaf 1
        > elect 1
        > fetch 2
        2 pauses UNKNOWN_LEADER_EPOCH
        > fetch 2
        2 asks nothing
        > hear 1
        > +1000
        > fetch 2
        > show
        1 leads e2 | m0
        2 | m0
        3 |
    """)
