"""Durations: exact sums and counts, quantiles of what was lately."""

from __future__ import annotations

from collections import Counter
from math import isnan
from time import perf_counter_ns
from typing import Any

import pytest

from headrace.broker.net.call import Call
from headrace.broker.net.error_counts import error_counter
from headrace.broker.net.request_times import RequestWatch
from headrace.broker.watching.durations import Durations, quantiles
from headrace.errors import Error
from headrace.wire.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from headrace.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)

SECOND_NS = 1_000_000_000


def test_sums_and_counts_are_exact_though_samples_are_thinned() -> None:
    """A hundred thousand samples are all counted, and few of them kept."""
    durations = Durations(2)
    for number in range(100_000):
        durations.add((number, 1))
    durations.fold(perf_counter_ns() + SECOND_NS)
    assert durations.count == 100_000
    assert durations.sums_ns == [sum(range(100_000)), 100_000]
    assert 0 < len(durations.recent()) <= 3_000


def test_old_samples_go_when_new_ones_come() -> None:
    """Quantiles are those of the last minute; the very last ones stay until others follow."""
    durations = Durations(1)
    now_ns = perf_counter_ns()
    durations.add((1,))
    durations.fold(now_ns + SECOND_NS)
    durations.fold(now_ns + 1_000 * SECOND_NS)
    assert durations.recent() == [(1,)]
    durations.add((2,))
    durations.fold(now_ns + 1_001 * SECOND_NS)
    assert durations.recent() == [(2,)]


def test_quantiles() -> None:
    """Nearest rank, in milliseconds; none of nothing."""
    values = [each * 1_000_000 for each in range(1, 101)]
    assert quantiles(values[::-1], (0.5, 0.99, 0.999)) == [51, 100, 100]
    assert isnan(quantiles([], (0.5,))[0])


def timed(watch: RequestWatch, now_ns: int) -> None:
    """A request that took a microsecond in its handler and nothing else."""
    nobody: Any = None
    call = Call(nobody, 0, 0, None)
    call.received_ns = call.began_ns = now_ns - 1_000
    call.handled_ns = call.answered_ns = call.queued_ns = now_ns
    watch.on_sent(call, now_ns)


def test_many_produces_are_timed_rarely_and_stand_for_all() -> None:
    """At ten thousand in a second one of 64 is timed, and the sums are those of all of them."""
    watch = RequestWatch("Produce")
    now_ns = perf_counter_ns()
    for number in range(100_000):
        now_ns += 100_000
        if not number & watch.mask:
            timed(watch, now_ns)
    assert watch.mask == 63
    watch.fold(now_ns)
    assert watch.durations.sums_ns[1] / (100_000 * 1_000) == pytest.approx(1, abs=0.02)
    watch.fold(now_ns + 60 * SECOND_NS)
    assert watch.mask == 0, "when nothing comes, the next ones are all timed"


def test_other_requests_are_all_timed() -> None:
    """Their errors are counted on the same way, and none may be missed."""
    watch = RequestWatch("OffsetCommit")
    now_ns = perf_counter_ns()
    for _ in range(1_000):
        now_ns += 1_000
        timed(watch, now_ns)
        assert watch.mask == 0
    watch.fold(now_ns)
    assert watch.durations.count == 1_000


def test_errors_are_counted_at_every_depth() -> None:
    """A fetch has a code of its own and one for each partition; others have theirs in a list."""
    partitions = [
        PartitionData(
            partition_index=index,
            error_code=code,
            high_watermark=0,
            aborted_transactions=None,
            records=None,
        )
        for index, code in enumerate((0, 0, Error.OFFSET_OUT_OF_RANGE))
    ]
    response = FetchResponse(
        throttle_time_ms=7,
        error_code=0,
        session_id=0,
        responses=[FetchableTopicResponse(topic="t", partitions=partitions)],
    )
    errors: Counter[int] = Counter()
    assert error_counter(FetchResponse)(response, errors) == 7
    assert errors == {0: 3, Error.OFFSET_OUT_OF_RANGE: 1}
    created = CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name="a", error_code=Error.TOPIC_ALREADY_EXISTS, error_message="")
        ]
    )
    errors.clear()
    error_counter(CreateTopicsResponse)(created, errors)
    assert errors == {Error.TOPIC_ALREADY_EXISTS: 1}
