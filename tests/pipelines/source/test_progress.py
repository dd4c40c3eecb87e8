"""The progress of a query in a consumer group, where lag tools look for it."""

from __future__ import annotations

import logging

import pytest

from headrace.client.cluster import shared_cluster
from headrace.client.group_offsets import committed_offsets
from headrace.client.settings import client_settings
from headrace.pipelines.source.options import SourceOptions
from headrace.pipelines.source.planning import Planner
from headrace.pipelines.source.progress import GroupProgress, choose_group
from headrace.testing import VirtualClock
from headrace.types import TopicPartition
from tests.pipelines.source.topics import Topics


def _planner(options: SourceOptions) -> Planner:
    return Planner(options, shared_cluster(options.client), VirtualClock(now_ms=0))


def test_the_group_shows_what_is_processed_and_survives_a_restart(topics: Topics) -> None:
    """Its name travels in the checkpoint; offsets are committed when the next batch is planned."""
    topic = topics.create()
    topics.produce(topic, [b"v"] * 5)
    options = topics.stream_options(subscribe=topic, groupIdPrefix="shop")
    planner = _planner(options)
    start = planner.initial()
    group = start.group
    assert group is not None
    assert group.startswith("shop-")
    end = planner.next_end(start, 2, hold_back=False)
    assert topics.committed(group) == {(topic, 0): 0}
    restarted = _planner(options)
    later = restarted.next_end(end, None, hold_back=False)
    assert topics.committed(group) == {(topic, 0): 2}
    assert later.group == group
    assert restarted.next_end(later, None, hold_back=False) is later
    assert topics.committed(group) == {(topic, 0): 5}


def test_a_group_can_be_named_or_switched_off(topics: Topics) -> None:
    """kafka.group.id is used as it is; commitOffsets=false leaves no trace."""
    topic = topics.create()
    named = topics.stream_options(subscribe=topic, kafka_group_id=f"{topic}-readers")
    planner = _planner(named)
    start = planner.initial()
    assert start.group is None
    planner.next_end(start, None, hold_back=False)
    assert topics.committed(f"{topic}-readers") == {(topic, 0): 0}
    silent = _planner(
        topics.stream_options(subscribe=topic, kafka_group_id="x", commitOffsets="false")
    )
    silent.next_end(silent.initial(), None, hold_back=False)
    assert topics.committed("x") == {}


def test_a_changed_prefix_gives_a_new_group() -> None:
    """Otherwise the one in the checkpoint stays."""
    assert choose_group("a", "a-1") == "a-1"
    assert choose_group("b", "a-1").startswith("b-")
    assert choose_group("a", None) != choose_group("a", None)


def test_a_commit_that_fails_never_stops_a_query(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and not tried again for a while."""
    nobody, _ = client_settings(
        {"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": "50"}
    )
    clock = VirtualClock(now_ms=0)
    progress = GroupProgress(nobody, clock)
    offsets = {TopicPartition("orders", 0): 1}
    with caplog.at_level(logging.WARNING):
        progress.reached("g", offsets)
        progress.reached("g", offsets)
        assert len(caplog.records) == 1
        clock.advance(20_000)
        progress.reached("g", offsets)
    assert len(caplog.records) == 2
    assert "not shown in group g" in caplog.text


def test_offsets_are_marked_as_ours(topics: Topics) -> None:
    """The metadata of each offset says who committed it."""
    topic = topics.create()
    settings, _ = client_settings({"bootstrap.servers": topics.bootstrap_servers})
    progress = GroupProgress(settings, VirtualClock(now_ms=0))
    progress.reached(f"{topic}-group", {TopicPartition(topic, 0): 1})
    committed = committed_offsets(shared_cluster(settings), f"{topic}-group")
    assert committed == {TopicPartition(topic, 0): (1, "headrace")}
