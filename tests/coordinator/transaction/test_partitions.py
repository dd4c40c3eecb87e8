"""AddPartitionsToTxn, AddOffsetsToTxn and what the produce path asks (KIP-98, KIP-890)."""

from __future__ import annotations

import pytest

from headrace.coordinator.effects import ProducerIdentity
from headrace.errors import Error
from headrace.types import TopicPartition
from headrace.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
)
from tests.coordinator.transaction.story import A0, A1, B0, ID, OFFSETS, Story, topics


def entry(
    producer: ProducerIdentity,
    *partitions: TopicPartition,
    transactional_id: str = ID,
    verify_only: bool = False,
) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        verify_only=verify_only,
        topics=topics(partitions),
    )


def batch(
    story: Story, *entries: AddPartitionsToTxnTransaction
) -> list[dict[TopicPartition, Error]]:
    """What a broker is answered: errors by partition for each transaction."""
    request = AddPartitionsToTxnRequest(transactions=list(entries))
    response = story.perform(
        story.shard.handle_add_partitions_to_txn(request, story.caller(5), story.now_ms)
    )
    assert response.error_code == Error.NONE
    assert [each.transactional_id for each in response.results_by_transaction] == [
        each.transactional_id for each in entries
    ]
    return [
        {
            TopicPartition(topic.name, result.partition_index): Error(result.partition_error_code)
            for topic in each.topic_results
            for result in topic.results_by_partition
        }
        for each in response.results_by_transaction
    ]


@pytest.mark.spec("slides:E06", "slides:E12")
def test_the_first_partition_begins_the_transaction() -> None:
    """KIP-98: Ongoing with its start, whatever follows adds to it."""
    story = Story()
    producer = story.start()
    started_ms = story.now_ms
    assert story.add_v1(producer, A0) is Error.NONE
    story.wait(10)
    assert story.add_v1(producer, A1, B0) is Error.NONE
    assert story.state == "Ongoing"
    assert story.metadata.partitions == {A0, A1, B0}
    assert story.metadata.start_ms == started_ms
    assert story.metadata.client_transaction_version == 0


def test_what_is_added_already_costs_no_record() -> None:
    """The second write to a partition changes nothing."""
    story = Story()
    producer = story.start()
    story.add(producer, A0, A1)
    length = len(story.log)
    assert story.add(producer, A0) is Error.NONE
    assert story.add_v1(producer, A1, A0) is Error.NONE
    assert len(story.log) == length


def test_a_write_under_transactions_v2_adds_its_partition() -> None:
    """KIP-890: the record tells which protocol the client speaks."""
    story = Story()
    producer = story.start()
    assert story.add(producer, A0) is Error.NONE
    assert story.metadata.client_transaction_version == 2


@pytest.mark.spec("slides:E08")
def test_offsets_of_a_group_take_part() -> None:
    """KIP-98: the group's partition of the offsets topic gets a marker like any other."""
    story = Story()
    producer = story.start()
    assert story.add_offsets(producer) is Error.NONE
    story.add(producer, A0)
    assert story.end(producer, commit=True).error_code == Error.NONE
    (markers,) = story.sent
    assert markers.partitions == (OFFSETS, A0)


def test_only_the_producer_itself_may_add() -> None:
    """Another id is no mapping, another epoch is fenced, nobody's id is unknown."""
    story = Story()
    producer = story.start()
    other = producer._replace(producer_id=1)
    assert story.add(other, A0) is Error.INVALID_PRODUCER_ID_MAPPING
    for epoch in (-1, 1):
        assert story.add(producer._replace(producer_epoch=epoch), A0) is Error.PRODUCER_FENCED
    assert story.add(producer, A0, transactional_id="x") is Error.INVALID_PRODUCER_ID_MAPPING
    assert story.add(producer, A0, transactional_id="") is Error.INVALID_REQUEST


def test_old_clients_know_no_fencing() -> None:
    """KIP-588: below version 2 a fenced producer has an invalid epoch."""
    story = Story()
    zombie = story.start()
    story.start()
    assert story.add_v1(zombie, A0, version=1) is Error.INVALID_PRODUCER_EPOCH
    assert story.add_v1(zombie, A0, version=2) is Error.PRODUCER_FENCED
    assert story.add_offsets(zombie, version=1) is Error.INVALID_PRODUCER_EPOCH
    assert story.add_offsets(zombie, version=2) is Error.PRODUCER_FENCED


def test_while_markers_are_written_nothing_is_added() -> None:
    """CONCURRENT_TRANSACTIONS: the client comes again when the end is complete."""
    story = Story()
    producer = story.start()
    story.add(producer, A0)
    response = story.end(producer, commit=True)
    following = ProducerIdentity(response.producer_id, response.producer_epoch)
    assert story.add(following, A1) is Error.CONCURRENT_TRANSACTIONS
    assert story.add_v1(following, A1) is Error.CONCURRENT_TRANSACTIONS
    assert story.add_offsets(following) is Error.CONCURRENT_TRANSACTIONS
    story.write_markers()
    assert story.add(following, A1) is Error.NONE
    assert story.metadata.partitions == {A1}


def test_partitions_are_verified_without_being_added() -> None:
    """KIP-890 part 1: a partition that was not added must not be written to."""
    story = Story()
    producer = story.start()
    story.add_v1(producer, A0)
    length = len(story.log)
    assert story.shard.verify_partitions(ID, producer, [A0, A1]) == {
        A0: Error.NONE,
        A1: Error.TRANSACTION_ABORTABLE,
    }
    stale = producer._replace(producer_epoch=9)
    assert story.shard.verify_partitions(ID, stale, [A0]) == {A0: Error.PRODUCER_FENCED}
    other = producer._replace(producer_id=9)
    assert story.shard.verify_partitions(ID, other, [A0]) == {A0: Error.INVALID_PRODUCER_ID_MAPPING}
    assert story.shard.verify_partitions("x", producer, [A0]) == {
        A0: Error.INVALID_PRODUCER_ID_MAPPING
    }
    assert story.shard.verify_partitions("", producer, [A0]) == {A0: Error.INVALID_REQUEST}
    assert len(story.log) == length


def test_no_partition_is_verified_once_the_end_is_decided() -> None:
    """KIP-890 part 1: a late write is kept out of the next transaction."""
    story = Story()
    producer = story.start()
    story.add_v1(producer, A0)
    story.end(producer, commit=True, version=4)
    assert story.shard.verify_partitions(ID, producer, [A0]) == {A0: Error.CONCURRENT_TRANSACTIONS}
    story.write_markers()
    assert story.shard.verify_partitions(ID, producer, [A0]) == {A0: Error.TRANSACTION_ABORTABLE}


def test_brokers_ask_for_several_transactions_at_once() -> None:
    """AddPartitionsToTxn v4-5: each is added to or verified, each has its own errors."""
    story = Story()
    producer = story.start()
    other = story.start("other")
    results = batch(
        story,
        entry(producer, A0, A1),
        entry(other, B0, transactional_id="other", verify_only=True),
        entry(other, B0, transactional_id="unknown"),
    )
    assert results == [
        {A0: Error.NONE, A1: Error.NONE},
        {B0: Error.TRANSACTION_ABORTABLE},
        {B0: Error.INVALID_PRODUCER_ID_MAPPING},
    ]
    assert story.metadata.partitions == {A0, A1}
    assert story.metadata.client_transaction_version == 2
    assert story.shard.transactions["other"].state.label == "Empty"


def test_a_transaction_may_stand_in_a_request_twice() -> None:
    """Neither entry takes back what the other adds."""
    story = Story()
    producer = story.start()
    results = batch(
        story, entry(producer, A0), entry(producer, B0), entry(producer, A0, verify_only=True)
    )
    assert results == [{A0: Error.NONE}, {B0: Error.NONE}, {A0: Error.NONE}]
    assert story.metadata.partitions == {A0, B0}
