"""The life of a consumer group, told as stories: joins, reconciliation, epochs, time-outs.

Most of them were played against Apache Kafka 4.3.1 as well, with the same answers.
"""

from __future__ import annotations

from tests.coordinator.consumer.story import check


def test_first_member() -> None:
    """KIP-848: a first member gets all partitions with its first answer."""
    check(
        """
        topic orders 3
        A > join topics=orders
        log member A
        log epoch 2
        log target of A orders:0,1,2
        log target 2
        log A epoch 2 STABLE orders:0@2,1@2,2@2
        group Stable
        A < epoch 2 orders:0,1,2
        A > heartbeat
        A < epoch 2
    """,
        logged=True,
    )


def test_second_member() -> None:
    """KIP-848: a partition is given up and confirmed before another member gets it."""
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
        +1000
        B > join topics=orders
        log member B
        log epoch 3
        log target of A orders:0,1
        log target of B orders:2,3
        log target 3
        log B epoch 3 UNRELEASED_PARTITIONS nothing
        group Reconciling
        B < epoch 3 nothing
        B > heartbeat                   # its answer waits
        log B epoch 3 UNRELEASED_PARTITIONS nothing
        A > heartbeat
        log A epoch 2 UNREVOKED_PARTITIONS orders:0@2,1@2 without orders:2@2,3@2
        A < epoch 2 orders:0,1
        A > heartbeat
        A < epoch 2
        A > heartbeat owned
        log A epoch 3 STABLE orders:0@2,1@2
        A < epoch 3
        log B epoch 3 STABLE orders:2@3,3@3
        group Stable
        B < epoch 3 orders:2,3
    """,
        logged=True,
    )


def test_who_waits_empty_handed() -> None:
    """The answer comes when something is free, or after a second, or with that to the next request;
    and who leaves or is removed meanwhile is told so.
    """
    check(
        """
        topic orders 4
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1,2,3
        +1000
        B > join topics=orders
        group Reconciling
        B < epoch 3 nothing
        B > heartbeat
        +999
        +1
        B < epoch 3
        B > heartbeat
        +500
        B > heartbeat                   # which of the two does it wait for?
        B < epoch 3
        B < epoch 3
        B > heartbeat
        +999
        B > leave
        group Assigning
        B < epoch -1
        B < UNKNOWN_MEMBER_ID
        +1000
        B > join topics=orders
        group Reconciling
        B < epoch 5 nothing
        B > heartbeat
        A > leave
        group Assigning
        A < epoch -1
        B < epoch 5 orders:2,3
    """
    )


def test_third_member() -> None:
    """KIP-848: targets are written only for members whose target changes."""
    check(
        """
        topic orders 2
        A > join topics=orders
        log member A
        log epoch 2
        log target of A orders:0,1
        log target 2
        log A epoch 2 STABLE orders:0@2,1@2
        group Stable
        A < epoch 2 orders:0,1
        +1000
        B > join topics=orders
        log member B
        log epoch 3
        log target of A orders:0
        log target of B orders:1
        log target 3
        log B epoch 3 UNRELEASED_PARTITIONS nothing
        group Reconciling
        B < epoch 3 nothing
        A > heartbeat owned
        log A epoch 2 UNREVOKED_PARTITIONS orders:0@2 without orders:1@2
        A < epoch 2 orders:0
        A > heartbeat owned
        log A epoch 3 STABLE orders:0@2
        A < epoch 3
        B > heartbeat
        log B epoch 3 STABLE orders:1@3
        group Stable
        B < epoch 3 orders:1
        +1000
        C > join topics=orders
        log member C
        log epoch 4
        log target of C nothing
        log target 4
        log C epoch 4 STABLE nothing
        group Reconciling
        C < epoch 4 nothing
    """,
        logged=True,
    )


def test_assignments_are_batched() -> None:
    """KIP-1263: within the assignment interval, members wait for the next assignment."""
    check(
        """
        topic orders 2
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1
        B > join topics=orders
        group Assigning
        B < epoch 2 nothing
        +999
        A > heartbeat
        A < epoch 2
        +1
        A > heartbeat
        group Reconciling
        A < epoch 2 orders:0
        A > heartbeat owned
        A < epoch 3
        B > heartbeat
        group Stable
        B < epoch 3 orders:1
    """
    )


def test_assignments_need_not_be_batched() -> None:
    """KIP-1263: an interval of 0 assigns with every change."""
    check(
        """
        topic orders 2
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1
        B > join topics=orders
        group Reconciling
        B < epoch 3 nothing
    """,
        group_consumer_assignment_interval_ms=0,
    )


def test_refused_requests() -> None:
    """KIP-848: what no member would send is refused before the group is looked at."""
    check(
        """
        topic orders 2
        A > heartbeat epoch=1
        A < GROUP_ID_NOT_FOUND
        A > join topics=orders as=
        A < INVALID_REQUEST
        A > join topics=orders v0 as=
        group Stable
        A < epoch 2 orders:0,1
        B > join
        B < INVALID_REQUEST
        B > join topics=orders rebalance=-1
        B < INVALID_REQUEST
        B > join topics=orders assignor=best
        B < UNSUPPORTED_ASSIGNOR
        B > heartbeat epoch=-3
        B < INVALID_REQUEST
        B > heartbeat epoch=-2
        B < INVALID_REQUEST
        B > heartbeat epoch=-1
        B < UNKNOWN_MEMBER_ID
        B > join topics=orders instance=
        B < INVALID_REQUEST
    """
    )


def test_refused_joins() -> None:
    """KIP-848: joining takes a timeout, a subscription that can be read, and no partitions."""
    check(
        """
        topic orders 2
        B > heartbeat epoch=0 rebalance=5000 topics=orders
        B < INVALID_REQUEST
        B > heartbeat epoch=5 as=
        B < INVALID_REQUEST
        B > heartbeat epoch=0 rebalance=5000 topics=orders owned rack=
        B < INVALID_REQUEST
        B > join topics=orders regex=o(
        B < INVALID_REGULAR_EXPRESSION
        B > join regex=o(?=x)
        B < INVALID_REGULAR_EXPRESSION
        B > join regex=
        group Stable
        B < epoch 1 nothing
        B > heartbeat
        B < epoch 1
    """
    )


def test_epochs() -> None:
    """KIP-848: only the member's epoch is taken, or the one before if its answer was lost."""
    check(
        """
        topic orders 4
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1,2,3
        A > heartbeat epoch=7
        A < FENCED_MEMBER_EPOCH
        A > heartbeat epoch=1
        A < FENCED_MEMBER_EPOCH
        A > heartbeat epoch=1 owned
        A < FENCED_MEMBER_EPOCH
        B > heartbeat epoch=1
        B < UNKNOWN_MEMBER_ID
        +1100
        B > join topics=orders
        group Reconciling
        B < epoch 3 nothing
        A > heartbeat
        A < epoch 2 orders:0,1
        A > heartbeat epoch=2 owned
        A < epoch 3
        A > heartbeat epoch=2 owned
        A < epoch 3
        A > heartbeat epoch=2
        A < FENCED_MEMBER_EPOCH
        A > heartbeat
        A < epoch 3
        B > heartbeat
        group Stable
        B < epoch 3 orders:2,3
        B > heartbeat epoch=2 owned
        B < FENCED_MEMBER_EPOCH
        B > heartbeat epoch=3
        B < epoch 3
    """
    )


def test_answer_is_lost() -> None:
    """KIP-848: who joins again, or sends all fields, is told all of its assignment again."""
    check(
        """
        topic orders 4
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1,2,3
        A > join topics=orders
        A < epoch 2 orders:0,1,2,3
        A > heartbeat rebalance=9000 topics=orders owned
        A < epoch 2 orders:0,1,2,3
        A > heartbeat owned
        A < epoch 2
    """
    )


def test_properties_change() -> None:
    """KIP-848: rack, assignor and timeout are noted without a new epoch."""
    check(
        """
        topic orders 2
        A > join topics=orders
        log member A
        log epoch 2
        log target of A orders:0,1
        log target 2
        log A epoch 2 STABLE orders:0@2,1@2
        group Stable
        A < epoch 2 orders:0,1
        A > heartbeat assignor=range
        log member A
        A < epoch 2
        A > heartbeat rack=r1
        log member A
        A < epoch 2
        A > heartbeat rebalance=777
        log member A
        A < epoch 2
    """,
        logged=True,
    )


def test_subscription_changes() -> None:
    """KIP-848: what is no longer wanted is taken away at once, what is new is assigned."""
    check(
        """
        topic orders 2
        topic logs 2
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1
        +1100
        A > heartbeat topics=logs
        group Reconciling
        A < epoch 2 nothing
        A > heartbeat owned
        group Stable
        A < epoch 3 logs:0,1
        A > heartbeat topics=orders,logs
        group Assigning
        A < epoch 3
        +1100
        A > heartbeat
        group Stable
        A < epoch 4 logs:0,1 orders:0,1
        A > heartbeat topics=orders owned
        group Assigning
        A < epoch 4 orders:0,1
        +1100
        A > heartbeat owned
        group Stable
        A < epoch 5
        A > heartbeat topics=
        group Assigning
        A < epoch 5 nothing
        +1100
        A > heartbeat owned
        group Stable
        A < epoch 6
    """
    )


def test_subscription_is_newer_than_the_target() -> None:
    """KIP-848: a target that is older than a member's wishes gives it nothing unwanted."""
    check(
        """
        topic orders 2
        topic logs 1
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1
        +1000
        B > join topics=orders
        group Reconciling
        B < epoch 3 nothing
        A > heartbeat topics=logs
        group Assigning
        A < epoch 2 nothing
        A > heartbeat owned
        A < epoch 3
        B > heartbeat
        B < epoch 3 orders:1
        +1000
        A > heartbeat
        group Reconciling
        A < epoch 4 logs:0
    """
    )


def test_topics_change() -> None:
    """KIP-848, KIP-1101: topics that appear, grow or vanish bring a new epoch."""
    check(
        """
        topic orders 2
        A > join topics=orders,later
        group Stable
        A < epoch 2 orders:0,1
        +1100
        topic orders 4
        A > heartbeat
        A < epoch 3 orders:0,1,2,3
        +1100
        topic later 1
        A > heartbeat
        A < epoch 4 later:0 orders:0,1,2,3
        +1100
        no topic later
        A > heartbeat
        group Reconciling
        A < epoch 4 orders:0,1,2,3
        A > heartbeat owned
        group Stable
        A < epoch 5
        +1100
        no topic orders
        A > heartbeat
        group Reconciling
        A < epoch 5 nothing
        A > heartbeat owned
        group Stable
        A < epoch 6
    """
    )


def test_subscriptions_differ() -> None:
    """KIP-848: members with different subscriptions share what they have in common."""
    check(
        """
        topic orders 2
        topic logs 4
        A > join topics=orders,logs
        group Stable
        A < epoch 2 logs:0,1,2,3 orders:0,1
        +1000
        B > join topics=logs
        group Reconciling
        B < epoch 3 nothing
        A > heartbeat
        A < epoch 2 logs:0 orders:0,1
        A > heartbeat owned
        A < epoch 3
        B > heartbeat
        group Stable
        B < epoch 3 logs:1,2,3
    """
    )


def test_range_assignor() -> None:
    """KIP-848: the range assignor gives ranges, and all get them without overlap."""
    check(
        """
        topic orders 5
        topic logs 3
        A > join topics=orders,logs assignor=range
        group Stable
        A < epoch 2 logs:0,1,2 orders:0,1,2,3,4
        +1100
        B > join topics=orders,logs assignor=range
        group Reconciling
        B < epoch 3 nothing
        A > heartbeat
        A < epoch 2 logs:0,1 orders:0,1,2
        A > heartbeat owned
        A < epoch 3
        B > heartbeat
        group Stable
        B < epoch 3 logs:2 orders:3,4
        +1100
        C > join topics=orders assignor=range
        group Reconciling
        C < epoch 4 nothing
        B > heartbeat owned
        B < epoch 3 logs:2 orders:3
        A > heartbeat owned
        A < epoch 3 logs:0,1 orders:0,1
        A > heartbeat owned
        A < epoch 4
        B > heartbeat owned
        B < epoch 4 logs:2 orders:2,3
        C > heartbeat
        group Stable
        C < epoch 4 orders:4
    """
    )


def test_session_timeout() -> None:
    """KIP-848: a member that is not heard of for a session timeout is removed."""
    check(
        """
        topic orders 2
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1
        +1100
        B > join topics=orders
        group Reconciling
        B < epoch 3 nothing
        A > heartbeat
        A < epoch 2 orders:0
        A > heartbeat owned
        A < epoch 3
        B > heartbeat
        group Stable
        B < epoch 3 orders:1
        +4000
        B > heartbeat
        B < epoch 3
        +2500
        group Assigning
        B > heartbeat
        group Stable
        B < epoch 4 orders:0,1
        A > heartbeat
        A < UNKNOWN_MEMBER_ID
    """,
        group_consumer_session_timeout_ms=6000,
    )


def test_rebalance_timeout() -> None:
    """KIP-848: a member that does not give partitions up in time is removed."""
    check(
        """
        topic orders 2
        A > join topics=orders rebalance=2000
        group Stable
        A < epoch 2 orders:0,1
        +1100
        B > join topics=orders
        group Reconciling
        B < epoch 3 nothing
        A > heartbeat
        A < epoch 2 orders:0
        B > heartbeat
        +1500
        B < epoch 3
        A > heartbeat
        A < epoch 2
        B > heartbeat
        +900
        group Assigning
        group Stable
        B < epoch 4 orders:0,1
        A > heartbeat
        A < UNKNOWN_MEMBER_ID
        B > heartbeat
        B < epoch 4
    """,
        group_consumer_session_timeout_ms=6000,
    )


def test_static_member_returns() -> None:
    """KIP-848, KIP-345: an instance that left with -2 gets its partitions back, alone."""
    check(
        """
        topic orders 4
        A > join topics=orders instance=i1
        group Stable
        A < epoch 2 orders:0,1,2,3
        +1100
        B > join topics=orders
        group Reconciling
        B < epoch 3 nothing
        A > heartbeat
        A < epoch 2 orders:0,1
        A > heartbeat owned
        A < epoch 3
        B > heartbeat
        group Stable
        B < epoch 3 orders:2,3
        C > join topics=orders instance=i1
        C < UNRELEASED_INSTANCE_ID
        C > heartbeat epoch=3
        C < FENCED_INSTANCE_ID
        A > leave static
        group Reconciling
        A < epoch -2
        C > join topics=orders instance=i1
        group Stable
        C < epoch 3 orders:0,1
        A > heartbeat epoch=3
        A < FENCED_INSTANCE_ID
        A > leave static
        A < FENCED_INSTANCE_ID
        A > leave
        A < FENCED_INSTANCE_ID
        C > heartbeat
        C < epoch 3
        B > heartbeat
        B < epoch 3
        C > leave
        group Assigning
        C < epoch -1
        +1100
        B > heartbeat
        group Stable
        B < epoch 4 orders:0,1,2,3
    """
    )


def test_static_member_stays_away() -> None:
    """KIP-848, KIP-345: its partitions are kept until its session ends."""
    check(
        """
        topic orders 4
        A > join topics=orders instance=i1
        group Stable
        A < epoch 2 orders:0,1,2,3
        A > leave static
        group Reconciling
        A < epoch -2
        B > join topics=orders
        group Assigning
        B < epoch 2 nothing
        +1100
        B > heartbeat
        group Reconciling
        B < epoch 3
        A > join topics=orders
        A < epoch 3 orders:0,1
        A > heartbeat owned
        A < epoch 3
        B > heartbeat
        group Stable
        B < epoch 3 orders:2,3
        +6500
        group Assigning
        group Empty
        C > join topics=orders
        group Stable
        C < epoch 6 orders:0,1,2,3
    """,
        group_consumer_session_timeout_ms=6000,
    )


def test_static_member_leaves_amid_a_rebalance() -> None:
    """KIP-848, KIP-345: who is away has given up what it had to, and is not waited for."""
    check(
        """
        topic orders 2
        A > join topics=orders instance=i rebalance=20000
        log member A
        log epoch 2
        log target of A orders:0,1
        log target 2
        log A epoch 2 STABLE orders:0@2,1@2
        group Stable
        A < epoch 2 orders:0,1
        +1000
        B > join topics=orders
        log member B
        log epoch 3
        log target of A orders:0
        log target of B orders:1
        log target 3
        log B epoch 3 UNRELEASED_PARTITIONS nothing
        group Reconciling
        B < epoch 3 nothing
        A > heartbeat
        log A epoch 2 UNREVOKED_PARTITIONS orders:0@2 without orders:1@2
        A < epoch 2 orders:0
        A > leave static
        log A epoch -2 UNREVOKED_PARTITIONS orders:0@0
        A < epoch -2
        B > heartbeat
        log B epoch 3 STABLE orders:1@3
        B < epoch 3 orders:1
        +20000
        B > heartbeat
        B < epoch 3
        restart
        +21000
        B > heartbeat
        B < epoch 3
        A > join topics=orders
        log A end
        log target of A end
        log member A end
        log member A
        log target of A orders:0
        log A epoch 0 UNREVOKED_PARTITIONS orders:0@0
        log member A
        log A epoch 3 STABLE orders:0@0
        group Stable
        A < epoch 3 orders:0
    """,
        logged=True,
    )


def test_group_is_full() -> None:
    """KIP-848: group.consumer.max.size is a limit for new members only."""
    check(
        """
        topic orders 2
        A > join topics=orders
        group Stable
        A < epoch 2 orders:0,1
        B > join topics=orders
        group Assigning
        B < epoch 2 nothing
        C > join topics=orders
        C < GROUP_MAX_SIZE_REACHED
        A > join topics=orders
        A < epoch 2 orders:0,1
        A > leave
        A < epoch -1
        C > join topics=orders
        C < epoch 2 nothing
    """,
        group_consumer_max_size=2,
    )


def test_coordinator_restarts() -> None:
    """KIP-848: a coordinator that takes over goes on from the log, and gives everybody time."""
    check(
        """
        topic orders 4
        A > join topics=orders rebalance=3000
        group Stable
        A < epoch 2 orders:0,1,2,3
        +1000
        B > join topics=orders
        group Reconciling
        B < epoch 3 nothing
        A > heartbeat
        A < epoch 2 orders:0,1
        restart
        B > heartbeat
        +2999
        B < epoch 3
        +1
        group Assigning
        B > heartbeat
        group Stable
        B < epoch 4 orders:0,1,2,3
        restart
        +45000
        group Empty
    """
    )
