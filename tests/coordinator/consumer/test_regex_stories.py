"""Subscriptions by regular expression, told as stories."""

from __future__ import annotations

from tests.coordinator.consumer.story import check


def test_members_with_expressions() -> None:
    """KIP-848: expressions are resolved after the first heartbeat, and shared by members."""
    check(
        """
        topic orders 2
        topic logs 1
        A > join regex=ord.*
        group Stable
        A < epoch 1 nothing
        group Assigning
        A > heartbeat
        group Stable
        A < epoch 2 orders:0,1
        +1100
        B > join regex=ord.*
        group Reconciling
        B < epoch 3 nothing
        A > heartbeat
        A < epoch 2 orders:0
        A > heartbeat owned
        A < epoch 3
        B > heartbeat
        group Stable
        B < epoch 3 orders:1
        +1100
        B > heartbeat regex=l.*
        group Reconciling
        B < epoch 3 nothing
        B > heartbeat owned
        group Stable
        B < epoch 3
        B > heartbeat
        B < epoch 3
        +10000
        group Assigning
        group Empty
    """,
        group_consumer_session_timeout_ms=6000,
    )


def test_topics_appear() -> None:
    """KIP-848: a topic that matches is found, at most every ten seconds."""
    check(
        """
        topic orders 2
        A > join regex=ord.*
        group Stable
        A < epoch 1 nothing
        group Assigning
        A > heartbeat
        group Stable
        A < epoch 2 orders:0,1
        topic ordinary 1
        A > heartbeat
        A < epoch 2
        +5100
        A > heartbeat
        A < epoch 2
        A > heartbeat
        A < epoch 2
        +5100
        A > heartbeat
        A < epoch 2
        group Assigning
        A > heartbeat
        group Stable
        A < epoch 3 orders:0,1 ordinary:0
        A > heartbeat
        A < epoch 3
        A > heartbeat regex= topics=orders
        group Assigning
        A < epoch 3 orders:0,1
        +1100
        A > heartbeat owned
        group Stable
        A < epoch 4
    """
    )


def test_expression_changes() -> None:
    """KIP-848: another expression replaces the old one, in the log too."""
    check(
        """
        topic orders 1
        topic logs 1
        A > join regex=o.*
        log member A
        log A epoch 1 STABLE nothing
        group Stable
        A < epoch 1 nothing
        log regex o.* orders
        log epoch 2
        group Assigning
        A > heartbeat
        log target of A orders:0
        log target 2
        log A epoch 2 STABLE orders:0@2
        group Stable
        A < epoch 2 orders:0
        +11000
        A > heartbeat regex=l.*
        log member A
        log regex o.* end
        log A epoch 2 UNREVOKED_PARTITIONS nothing without orders:0@2
        group Reconciling
        A < epoch 2 nothing
        log regex l.* logs
        log epoch 3
        group Assigning
        A > heartbeat owned
        log target of A logs:0
        log target 3
        log A epoch 3 STABLE logs:0@3
        group Stable
        A < epoch 3 logs:0
    """,
        logged=True,
    )


def test_expressions_end() -> None:
    """KIP-848: an expression is in the log as long as a member uses it."""
    check(
        """
        topic orders 2
        topic logs 1
        A > join regex=.*s
        log member A
        log A epoch 1 STABLE nothing
        group Stable
        A < epoch 1 nothing
        log regex .*s logs orders
        log epoch 2
        group Assigning
        A > heartbeat
        log target of A logs:0 orders:0,1
        log target 2
        log A epoch 2 STABLE logs:0@2 orders:0@2,1@2
        group Stable
        A < epoch 2 logs:0 orders:0,1
        +1000
        B > join regex=.*s
        log member B
        log epoch 3
        log target of A orders:0,1
        log target of B logs:0
        log target 3
        log B epoch 3 UNRELEASED_PARTITIONS nothing
        group Reconciling
        B < epoch 3 nothing
        B > heartbeat regex=
        log member B
        log epoch 4
        log B epoch 3 STABLE nothing
        group Assigning
        B < epoch 3
        A > leave
        log A end
        log target of A end
        log member A end
        log regex .*s end
        log epoch 5
        A < epoch -1
    """,
        logged=True,
    )


def test_expressions_are_refreshed() -> None:
    """KIP-848: expressions are resolved again for new topics and after the refresh interval."""
    check(
        """
        topic orders 2
        A > join regex=ord.*
        log member A
        log A epoch 1 STABLE nothing
        group Stable
        A < epoch 1 nothing
        log regex ord.* orders
        log epoch 2
        group Assigning
        A > heartbeat
        log target of A orders:0,1
        log target 2
        log A epoch 2 STABLE orders:0@2,1@2
        group Stable
        A < epoch 2 orders:0,1
        +10001
        A > heartbeat
        A < epoch 2
        +9999
        topic ordinary 1
        A > heartbeat
        A < epoch 2
        log regex ord.* orders ordinary
        log epoch 3
        group Assigning
        +1
        A > heartbeat
        log target of A orders:0,1 ordinary:0
        log target 3
        log A epoch 3 STABLE orders:0@2,1@2 ordinary:0@3
        group Stable
        A < epoch 3 orders:0,1 ordinary:0
        A > heartbeat
        A < epoch 3
        +600000
        A > heartbeat
        A < epoch 3
        log regex ord.* orders ordinary
        +1
    """,
        logged=True,
        group_consumer_session_timeout_ms=2000000,
    )
