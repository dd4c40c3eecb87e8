"""Both protocols in one group and migration between them, told as stories.

Most of them were played against Apache Kafka 4.3.1 as well, with the same answers; for the upgrade
and the downgrade the records were compared too.
"""

from __future__ import annotations

from tests.coordinator.consumer.story import check


def test_upgrade_of_a_cooperative_group() -> None:
    """KIP-848: the first new consumer takes a classic group along; it gives up what it must."""
    check(
        """
        topic orders 4
        C > classic-join new topics=orders
        classic group Empty
        C < MEMBER_ID_REQUIRED
        C > classic-join
        classic group PreparingRebalance
        classic group CompletingRebalance
        C < generation 1 range
        C > classic-sync assign=C/orders:0,1,2,3
        classic group Stable
        C < orders:0,1,2,3
        C > classic-heartbeat
        C < alive
        A > join topics=orders
        group Reconciling
        A < epoch 2 nothing
        C > classic-heartbeat
        C < REBALANCE_IN_PROGRESS
        C > classic-sync
        C < REBALANCE_IN_PROGRESS
        C > classic-join owns=orders:0,1,2,3
        C < generation 1 range
        C > classic-heartbeat
        C < REBALANCE_IN_PROGRESS
        C > classic-sync
        C < orders:0,1
        A > heartbeat
        C > classic-heartbeat
        C < REBALANCE_IN_PROGRESS
        C > classic-join owns=orders:0,1
        C < generation 2 range
        group Stable
        A < epoch 2 orders:2,3
        C > classic-sync
        C < orders:0,1
        C > classic-heartbeat
        C < alive
        +1100
        C > classic-leave
        group Assigning
        C < left
        A > heartbeat
        group Stable
        A < epoch 3 orders:0,1,2,3
    """,
        group_initial_rebalance_delay_ms=0,
    )


def test_upgrade_of_an_eager_group() -> None:
    """KIP-848: a classic member that owns nothing when it joins is moved on at once."""
    check(
        """
        topic orders 4
        C > classic-join new topics=orders
        log generation 0 None of nobody
        classic group Empty
        C < MEMBER_ID_REQUIRED
        C > classic-join
        classic group PreparingRebalance
        classic group CompletingRebalance
        C < generation 1 range
        C > classic-sync assign=C/orders:0,1,2,3
        log generation 1 range of C
        classic group Stable
        C < orders:0,1,2,3
        A > join topics=orders
        log generation end
        log member C
        log epoch 1
        log target of C orders:0,1,2,3
        log target 1
        log C epoch 1 STABLE orders:0@1,1@1,2@1,3@1
        log member A
        log epoch 2
        log target of A orders:2,3
        log target of C orders:0,1
        log target 2
        log A epoch 2 UNRELEASED_PARTITIONS nothing
        group Reconciling
        A < epoch 2 nothing
        C > classic-heartbeat
        C < REBALANCE_IN_PROGRESS
        C > classic-join
        log C epoch 2 STABLE orders:0@1,1@1
        C < generation 2 range
        C > classic-heartbeat
        C < alive
        C > classic-sync
        C < orders:0,1
        A > heartbeat
        log A epoch 2 STABLE orders:2@2,3@2
        group Stable
        A < epoch 2 orders:2,3
        C > classic-heartbeat
        C < alive
    """,
        logged=True,
        group_initial_rebalance_delay_ms=0,
    )


def test_upgrade_during_a_rebalance() -> None:
    """KIP-848: who waits in the classic group is told to join again."""
    check(
        """
        topic orders 2
        C > classic-join new topics=orders
        classic group Empty
        C < MEMBER_ID_REQUIRED
        C > classic-join
        classic group PreparingRebalance
        classic group CompletingRebalance
        C < generation 1 range
        D > classic-join new topics=orders
        D < MEMBER_ID_REQUIRED
        D > classic-join
        classic group PreparingRebalance
        C > classic-heartbeat
        C < REBALANCE_IN_PROGRESS
        A > join topics=orders
        group Reconciling
        D < REBALANCE_IN_PROGRESS
        A < epoch 2 orders:0
        D > classic-join
        D < generation 2 range
        C > classic-heartbeat
        C < REBALANCE_IN_PROGRESS
    """,
        group_initial_rebalance_delay_ms=0,
    )


def test_downgrade() -> None:
    """KIP-848: when the last new consumer leaves, the others rebalance as a classic group."""
    check(
        """
        topic orders 4
        A > join topics=orders
        log member A
        log epoch 2
        log target of A orders:0,1,2,3
        log target 2
        log A epoch 2 STABLE orders:0@2,1@2,2@2,3@2
        group Stable
        A < epoch 2 orders:0,1,2,3
        +1100
        C > classic-join new topics=orders
        C < MEMBER_ID_REQUIRED
        C > classic-join
        log member C
        log epoch 3
        log target of A orders:0,1
        log target of C orders:2,3
        log target 3
        log C epoch 3 UNRELEASED_PARTITIONS nothing
        group Reconciling
        C < generation 3 range
        C > classic-sync
        C < nothing
        C > classic-heartbeat
        C < alive
        A > heartbeat
        log A epoch 2 UNREVOKED_PARTITIONS orders:0@2,1@2 without orders:2@2,3@2
        A < epoch 2 orders:0,1
        A > heartbeat owned
        log A epoch 3 STABLE orders:0@2,1@2
        A < epoch 3
        C > classic-heartbeat
        C < REBALANCE_IN_PROGRESS
        C > classic-join
        log C epoch 3 STABLE orders:2@3,3@3
        group Stable
        C < generation 3 range
        C > classic-sync
        C < orders:2,3
        C > classic-heartbeat
        C < alive
        A > leave
        log A end
        log C end
        log target of A end
        log target of C end
        log target end
        log member A end
        log member C end
        log partition metadata end
        log epoch end
        log generation 3 range of C
        classic group PreparingRebalance
        A < epoch -1
        C > classic-heartbeat
        C < REBALANCE_IN_PROGRESS
        C > classic-join owns=orders:0,1
        classic group CompletingRebalance
        C < generation 4 range
        C > classic-sync assign=C/orders:0,1,2,3
        log generation 4 range of C
        classic group Stable
        C < orders:0,1,2,3
        C > classic-heartbeat
        C < alive
    """,
        logged=True,
        group_initial_rebalance_delay_ms=0,
    )


def test_downgrade_after_a_time_out() -> None:
    """KIP-848: a new consumer that is not heard of makes way for a classic group too."""
    check(
        """
        topic orders 2
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1
        +1000
        C > classic-join topics=orders session=50000
        group Reconciling
        C < generation 3 range
        C > classic-sync
        C < nothing
        +45000
        classic group PreparingRebalance
        C > classic-heartbeat
        C < REBALANCE_IN_PROGRESS
    """,
        group_initial_rebalance_delay_ms=0,
    )


def test_static_member_up_and_down() -> None:
    """KIP-848, KIP-345: an instance changes its protocol and keeps its partitions."""
    check(
        """
        topic orders 4
        C > classic-join new topics=orders instance=i1
        classic group PreparingRebalance
        classic group CompletingRebalance
        C < generation 1 range
        C > classic-sync assign=C/orders:0,1,2,3
        classic group Stable
        C < orders:0,1,2,3
        A > join topics=orders instance=i1
        group Stable
        A < epoch 1 orders:0,1,2,3
        C > classic-heartbeat
        C < FENCED_INSTANCE_ID
        A > heartbeat
        A < epoch 1
        D > classic-join new topics=orders instance=i1
        classic group Stable
        D < generation 1 range
        D > classic-sync
        D < orders:0,1,2,3
        D > classic-heartbeat
        D < alive
    """,
        group_initial_rebalance_delay_ms=0,
    )


def test_downgrade_without_an_assignment() -> None:
    """KIP-848: a classic group that has no assignment for its epoch rebalances at once."""
    check(
        """
        topic orders 4
        A > join topics=orders instance=i1
        group Stable
        A < epoch 2 orders:0,1,2,3
        +1100
        C > classic-join topics=orders
        group Reconciling
        C < generation 3 range
        C > classic-sync
        C < nothing
        A > heartbeat
        A < epoch 2 orders:0,1
        A > heartbeat owned
        A < epoch 3
        C > classic-heartbeat
        C < REBALANCE_IN_PROGRESS
        C > classic-join
        group Stable
        C < generation 3 range
        C > classic-sync
        C < orders:2,3
        topic logs 1
        B > classic-join new topics=orders,logs instance=i1
        classic group PreparingRebalance
        B < generation 0 range
        C > classic-heartbeat
        C < REBALANCE_IN_PROGRESS
        C > classic-join owns=orders:0
        C > classic-sync
        C < REBALANCE_IN_PROGRESS
    """,
        group_initial_rebalance_delay_ms=0,
    )


def test_classic_member_waits() -> None:
    """KIP-848: a classic member is told to join when partitions that it waits for are free."""
    check(
        """
        topic orders 2
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1
        +1100
        C > classic-join topics=orders
        group Reconciling
        C < generation 3 range
        C > classic-sync
        C < nothing
        C > classic-heartbeat
        C < alive
        +1100
        A > heartbeat
        A < epoch 2 orders:0
        C > classic-heartbeat
        C < alive
        A > heartbeat owned
        A < epoch 3
        C > classic-heartbeat
        C < REBALANCE_IN_PROGRESS
        C > classic-join
        group Stable
        C < generation 3 range
        C > classic-sync
        C < orders:1
        C > classic-heartbeat
        C < alive
        C > classic-leave v2
        group Assigning
        C < left
        A > heartbeat
        group Stable
        A < epoch 4 orders:0,1
    """
    )


def test_classic_members_are_refused() -> None:
    """KIP-848: classic requests are refused as by a classic group."""
    check(
        """
        topic orders 4
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1,2,3
        C > classic-join new topics=orders type=connect
        C < INCONSISTENT_GROUP_PROTOCOL
        C > classic-join new topics=orders session=1
        C < INVALID_SESSION_TIMEOUT
        C > classic-join new topics=orders garbage
        C < MEMBER_ID_REQUIRED
        C > classic-join topics=orders protocols=range,roundrobin
        group Assigning
        C < generation 2 range
        D > classic-join as=D topics=orders protocols=sticky
        D < INCONSISTENT_GROUP_PROTOCOL
        D > classic-join as=D topics=orders protocols=roundrobin
        D < generation 2 roundrobin
        D > classic-sync epoch=77
        D < ILLEGAL_GENERATION
        D > classic-sync type=connect
        D < INCONSISTENT_GROUP_PROTOCOL
        D > classic-sync protocol=range
        D < INCONSISTENT_GROUP_PROTOCOL
        A > classic-heartbeat
        A < UNKNOWN_MEMBER_ID
        D > classic-heartbeat epoch=77
        D < ILLEGAL_GENERATION
        X > classic-heartbeat
        X < UNKNOWN_MEMBER_ID
        X > classic-sync
        X < UNKNOWN_MEMBER_ID
        X > classic-leave
        X < UNKNOWN_MEMBER_ID
        A > classic-leave
        classic group PreparingRebalance
        A < left
        D > classic-heartbeat
        D < ILLEGAL_GENERATION
    """
    )


def test_classic_member_does_not_join() -> None:
    """KIP-848: a classic member has its rebalance timeout to join again."""
    check(
        """
        topic orders 2
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1
        +1000
        C > classic-join topics=orders rebalance=2000
        group Reconciling
        C < generation 3 range
        C > classic-sync
        C < nothing
        +1000
        B > join topics=orders
        B < epoch 4 nothing
        C > classic-heartbeat
        C < REBALANCE_IN_PROGRESS
        +1999
        C > classic-heartbeat
        C < REBALANCE_IN_PROGRESS
        +1
        group Assigning
        C > classic-heartbeat
        C < UNKNOWN_MEMBER_ID
    """
    )


def test_classic_member_does_not_sync() -> None:
    """KIP-848: a classic member has its rebalance timeout to fetch its assignment."""
    check(
        """
        topic orders 2
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1
        +1000
        C > classic-join topics=orders rebalance=2000
        group Reconciling
        C < generation 3 range
        +1999
        +1
        group Assigning
        A > heartbeat
        group Stable
        A < epoch 4
        C > classic-sync
        C < UNKNOWN_MEMBER_ID
    """
    )


def test_classic_session_timeout() -> None:
    """KIP-848: a classic member has the session timeout that it asked for."""
    check(
        """
        topic orders 2
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1
        +1000
        C > classic-join topics=orders session=6000
        group Reconciling
        C < generation 3 range
        C > classic-sync
        C < nothing
        +5999
        C > classic-heartbeat
        C < alive
        +6000
        group Assigning
        A > heartbeat
        group Stable
        A < epoch 4
    """
    )


def test_no_consumers() -> None:
    """KIP-848: a classic group of other members than consumers is not taken along."""
    check(
        """
        topic orders 2
        C > classic-join new topics=orders type=connect
        classic group Empty
        C < MEMBER_ID_REQUIRED
        C > classic-join type=connect
        classic group PreparingRebalance
        classic group CompletingRebalance
        C < generation 1 range
        A > join topics=orders
        A < GROUP_ID_NOT_FOUND
    """,
        group_initial_rebalance_delay_ms=0,
    )


def test_empty_groups() -> None:
    """KIP-848: an empty group is of the kind of the next member."""
    check(
        """
        topic orders 2
        C > classic-join topics=orders new instance=i
        classic group PreparingRebalance
        classic group CompletingRebalance
        C < generation 1 range
        C > classic-leave
        classic group Empty
        C < left
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1
        A > leave
        group Empty
        A < epoch -1
        C > classic-join new topics=orders
        group Dead
        classic group PreparingRebalance
        classic group CompletingRebalance
        C < generation 1 range
    """,
        group_initial_rebalance_delay_ms=0,
    )


def test_policy_without_classic_members() -> None:
    """group.consumer.migration.policy=disabled: classic members cannot join."""
    check(
        """
        topic orders 2
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1
        C > classic-join topics=orders
        C < INCONSISTENT_GROUP_PROTOCOL
    """,
        group_consumer_migration_policy="disabled",
    )


def test_policy_without_upgrade() -> None:
    """group.consumer.migration.policy=disabled: a classic group stays one."""
    check(
        """
        topic orders 2
        C > classic-join topics=orders new instance=i
        classic group PreparingRebalance
        classic group CompletingRebalance
        C < generation 1 range
        A > join topics=orders
        A < GROUP_ID_NOT_FOUND
        C > classic-sync assign=C/orders:0,1
        classic group Stable
        C < orders:0,1
    """,
        group_consumer_migration_policy="disabled",
        group_initial_rebalance_delay_ms=0,
    )


def test_too_large_for_a_downgrade() -> None:
    """group.max.size: a group that would be too large as a classic one stays as it is."""
    check(
        """
        topic orders 2
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1
        +1000
        C > classic-join topics=orders
        group Reconciling
        C < generation 3 range
        D > classic-join topics=orders
        group Assigning
        D < generation 3 range
        A > leave
        A < epoch -1
    """,
        group_max_size=1,
    )


def test_policy_without_downgrade() -> None:
    """group.consumer.migration.policy=upgrade: classic members stay in the consumer group."""
    check(
        """
        topic orders 2
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1
        +1000
        C > classic-join topics=orders
        group Reconciling
        C < generation 3 range
        A > leave
        group Assigning
        A < epoch -1
        C > classic-heartbeat
        C < REBALANCE_IN_PROGRESS
    """,
        group_consumer_migration_policy="upgrade",
    )
