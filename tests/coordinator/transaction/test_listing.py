"""DescribeTransactions and ListTransactions (KIP-664, KIP-994, KIP-1152)."""

from __future__ import annotations

import pytest

from headrace.coordinator.transaction.listing import listed
from headrace.errors import Error
from headrace.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from tests.coordinator.transaction.story import A0, A1, B0, FIRST_PRODUCER_ID, ID, Story


@pytest.fixture
def story() -> Story:
    """`etl-0` is Empty, `etl-1` open since 5 seconds, `web-0` began after it and is committed."""
    story = Story()
    story.start("etl-0")
    etl = story.start("etl-1")
    web = story.start("web-0")
    story.add(etl, A0, transactional_id="etl-1")
    story.wait(1000)
    story.add(web, A0, transactional_id="web-0")
    story.wait(4000)
    story.end(web, commit=True, transactional_id="web-0")
    story.write_markers()
    return story


def ask(
    story: Story,
    *,
    states: tuple[str, ...] = (),
    producer_ids: tuple[int, ...] = (),
    duration_ms: int = -1,
    pattern: str | None = None,
) -> ListTransactionsResponse:
    request = ListTransactionsRequest(
        state_filters=list(states),
        producer_id_filters=list(producer_ids),
        duration_filter=duration_ms,
        transactional_id_pattern=pattern,
    )
    return listed(story.shard.transactions.values(), request, story.now_ms)


def names(response: ListTransactionsResponse) -> list[str]:
    assert response.error_code == Error.NONE
    return [each.transactional_id for each in response.transaction_states]


def test_all_are_listed_without_filters(story: Story) -> None:
    """KIP-664: id, producer id and state of each."""
    response = ask(story)
    assert response.unknown_state_filters == []
    assert [
        (each.transactional_id, each.producer_id, each.transaction_state)
        for each in response.transaction_states
    ] == [
        ("etl-0", FIRST_PRODUCER_ID, "Empty"),
        ("etl-1", FIRST_PRODUCER_ID + 1, "Ongoing"),
        ("web-0", FIRST_PRODUCER_ID + 2, "CompleteCommit"),
    ]


def test_states_and_producer_ids_are_filters(story: Story) -> None:
    """KIP-664: whoever passes every filter is listed."""
    assert names(ask(story, states=("Ongoing", "Empty"))) == ["etl-0", "etl-1"]
    assert names(ask(story, producer_ids=(FIRST_PRODUCER_ID + 2, 5))) == ["web-0"]
    assert names(ask(story, states=("Empty",), producer_ids=(FIRST_PRODUCER_ID + 2,))) == []


def test_unknown_states_are_named(story: Story) -> None:
    """KIP-664: a state that does not exist matches nothing, and the answer says which it was."""
    response = ask(story, states=("Ongoing", "ONGOING"))
    assert response.unknown_state_filters == ["ONGOING"]
    assert names(response) == ["etl-1"]
    assert names(ask(story, states=("Nonsense",))) == []


def test_duration_is_a_filter(story: Story) -> None:
    """KIP-994: those that run for longer than this, by the clock of the broker."""
    assert names(ask(story, states=("Ongoing",), duration_ms=4999)) == ["etl-1"]
    assert names(ask(story, states=("Ongoing",), duration_ms=5000)) == []


def test_a_pattern_is_a_filter(story: Story) -> None:
    """KIP-1152: it stands for the whole id; an empty one is none."""
    assert names(ask(story, pattern="etl-.*")) == ["etl-0", "etl-1"]
    assert names(ask(story, pattern="etl")) == []
    assert len(names(ask(story, pattern=""))) == 3


@pytest.mark.parametrize("pattern", ["(", "a**", r"(?=x)", r"(a)\\1("])
def test_a_pattern_that_is_none_is_refused(story: Story, pattern: str) -> None:
    """KIP-1152: INVALID_REGULAR_EXPRESSION, also for what RE2 does not know."""
    assert ask(story, pattern=pattern).error_code == Error.INVALID_REGULAR_EXPRESSION


def test_an_open_transaction_is_described(story: Story) -> None:
    """KIP-664: state, producer, start, time-out and partitions."""
    described = story.shard.handle_describe_transactions("etl-1")
    assert described.error_code == Error.NONE
    assert described.transaction_state == "Ongoing"
    assert described.transaction_start_time_ms == story.now_ms - 5000
    assert described.transaction_timeout_ms == 60_000
    assert (described.producer_id, described.producer_epoch) == (FIRST_PRODUCER_ID + 1, 0)
    assert [(topic.topic, topic.partitions) for topic in described.topics] == [("a", [0])]


def test_while_markers_are_written_the_rest_is_described() -> None:
    """An operator sees what an end still waits for."""
    story = Story()
    producer = story.start()
    story.add(producer, A0, A1, B0)
    story.end(producer, commit=True)
    story.write_markers(A0)
    described = story.shard.handle_describe_transactions(ID)
    assert described.transaction_state == "PrepareCommit"
    assert [(topic.topic, topic.partitions) for topic in described.topics] == [
        ("a", [1]),
        ("b", [0]),
    ]
    story.write_markers()
    assert story.shard.handle_describe_transactions(ID).topics == []


def test_an_unknown_id_is_not_found(story: Story) -> None:
    """KIP-664: TRANSACTIONAL_ID_NOT_FOUND; an empty id is no id."""
    described = story.shard.handle_describe_transactions("nobody")
    assert described.error_code == Error.TRANSACTIONAL_ID_NOT_FOUND
    assert described.transactional_id == "nobody"
    assert story.shard.handle_describe_transactions("").error_code == Error.INVALID_REQUEST
