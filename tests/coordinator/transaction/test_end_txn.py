"""EndTxn: one outcome per transaction, whoever asks how often (KIP-98, KIP-890)."""

from __future__ import annotations

import pytest

from headrace.coordinator.effects import ProducerIdentity
from headrace.errors import Error
from tests.coordinator.transaction.story import (
    A0,
    A1,
    B0,
    FIRST_PRODUCER_ID,
    ID,
    NOBODY,
    OFFSETS,
    Story,
)

COMPLETE = {True: "CompleteCommit", False: "CompleteAbort"}
PREPARE = {True: "PrepareCommit", False: "PrepareAbort"}


def open_transaction(story: Story) -> ProducerIdentity:
    producer = story.start()
    assert story.add(producer, A0, A1) is Error.NONE
    return producer


@pytest.mark.spec("admin:TX-06", "slides:E11", "slides:E12")
@pytest.mark.parametrize("commit", [True, False])
def test_an_end_is_decided_marked_and_complete(commit: bool) -> None:
    """Prepare in the log, a marker for every partition, complete in the log."""
    story = Story()
    producer = open_transaction(story)
    story.add_offsets(producer)
    started_ms = story.now_ms
    story.wait(500)
    response = story.end(producer, commit=commit)
    assert response.error_code == Error.NONE
    assert story.state == PREPARE[commit]
    (markers,) = story.sent
    assert markers.commit is commit
    assert markers.partitions == (OFFSETS, A0, A1)
    assert markers.transaction_version == 2
    story.write_markers(A0)
    assert story.state == PREPARE[commit]
    story.write_markers()
    assert story.state == COMPLETE[commit]
    assert story.metadata.partitions == frozenset()
    assert story.metadata.start_ms == started_ms
    assert story.metadata.last_update_ms == story.now_ms


def test_transactions_v2_raise_the_epoch_with_every_end() -> None:
    """KIP-890: the answer and the markers carry the next epoch."""
    story = Story()
    producer = open_transaction(story)
    response = story.end(producer, commit=True)
    assert response.producer_id == producer.producer_id
    assert response.producer_epoch == producer.producer_epoch + 1
    assert story.sent[0].producer == producer._replace(producer_epoch=1)


def test_transactions_v1_keep_the_epoch() -> None:
    """EndTxn below version 5: the same producer in the answer, the markers and the state."""
    story = Story()
    producer = story.start()
    story.add_v1(producer, A0)
    response = story.end(producer, commit=True, version=4)
    assert (response.producer_id, response.producer_epoch) == NOBODY
    assert story.sent[0].producer == producer
    assert story.sent[0].transaction_version == 0
    story.write_markers()
    assert story.metadata.producer == producer
    assert story.add_v1(producer, A1) is Error.NONE


# State of the id, abort repeated and current, commit repeated and current.
TABLE_V2 = [
    ("Empty", Error.PRODUCER_FENCED, Error.NONE, Error.PRODUCER_FENCED, Error.INVALID_TXN_STATE),
    ("CompleteAbort", Error.NONE, Error.NONE, Error.INVALID_TXN_STATE, Error.INVALID_TXN_STATE),
    ("CompleteCommit", Error.INVALID_TXN_STATE, Error.NONE, Error.NONE, Error.INVALID_TXN_STATE),
]


@pytest.mark.parametrize(
    ("state", "commit", "is_repeated", "error"),
    [
        (row[0], commit, is_repeated, row[1 + 2 * commit + (not is_repeated)])
        for row in TABLE_V2
        for commit in (False, True)
        for is_repeated in (True, False)
    ],
)
def test_ends_without_a_transaction_v2(
    state: str, commit: bool, is_repeated: bool, error: Error
) -> None:
    """KIP-890: the epoch tells a repeated end from one of a transaction that never began."""
    story = Story()
    before = story.start()
    current = story.start()
    if state != "Empty":
        before = current
        story.add(before, A0)
        current = story.commit(before) if state == "CompleteCommit" else story.abort(before)
    assert story.state == state
    response = story.end(before if is_repeated else current, commit=commit)
    assert response.error_code == error
    told = ProducerIdentity(response.producer_id, response.producer_epoch)
    if error is not Error.NONE:
        assert told == NOBODY
    elif is_repeated:
        assert told == current
        assert story.state == state
    else:
        # An abort of nothing ends at once and raises the epoch as any other.
        assert told == current._replace(producer_epoch=current.producer_epoch + 1)
        assert story.state == "CompleteAbort"
        assert story.states_written[-2:] == [3, 5]
        assert not story.sent
        assert story.metadata.start_ms == story.now_ms


@pytest.mark.parametrize("decided", [True, False])
@pytest.mark.parametrize("asked", [True, False])
def test_a_repeated_end_v1(decided: bool, asked: bool) -> None:
    """Transactions v1: as told before if the outcome is the same, invalid otherwise."""
    story = Story()
    producer = story.start()
    story.add_v1(producer, A0)
    story.end(producer, commit=decided, version=4)
    assert story.end(producer, commit=asked, version=4).error_code == Error.CONCURRENT_TRANSACTIONS
    story.write_markers()
    expected = Error.NONE if decided == asked else Error.INVALID_TXN_STATE
    assert story.end(producer, commit=asked, version=4).error_code == expected
    assert story.state == COMPLETE[decided]


@pytest.mark.parametrize("commit", [True, False])
def test_nothing_ends_v1_in_the_state_empty(commit: bool) -> None:
    """Transactions v1: the client knows whether it added partitions."""
    story = Story()
    producer = story.start()
    assert story.end(producer, commit=commit, version=4).error_code == Error.INVALID_TXN_STATE


@pytest.mark.parametrize("asked", [True, False])
def test_an_end_in_progress_is_concurrent_v2(asked: bool) -> None:
    """KIP-890: until the markers are written every end is to come again."""
    story = Story()
    producer = open_transaction(story)
    story.end(producer, commit=True)
    length = len(story.log)
    assert story.end(producer, commit=asked).error_code == Error.CONCURRENT_TRANSACTIONS
    assert len(story.log) == length


def test_only_the_producer_itself_may_end() -> None:
    """Another id is no mapping, another epoch is fenced; old clients know no fencing."""
    story = Story()
    producer = open_transaction(story)
    for version in (4, 5):
        other = producer._replace(producer_id=1)
        response = story.end(other, commit=True, version=version)
        assert response.error_code == Error.INVALID_PRODUCER_ID_MAPPING
        for epoch in (-1, 1, 32766):
            stale = producer._replace(producer_epoch=epoch)
            response = story.end(stale, commit=True, version=version)
            assert response.error_code == Error.PRODUCER_FENCED
        response = story.end(producer, commit=True, version=version, transactional_id="x")
        assert response.error_code == Error.INVALID_PRODUCER_ID_MAPPING
        response = story.end(producer, commit=True, version=version, transactional_id="")
        assert response.error_code == Error.INVALID_REQUEST
    stale = producer._replace(producer_epoch=1)
    assert story.end(stale, commit=True, version=1).error_code == Error.INVALID_PRODUCER_EPOCH
    assert story.end(stale, commit=True, version=2).error_code == Error.PRODUCER_FENCED
    assert story.state == "Ongoing"


def test_the_last_epoch_ends_with_a_fresh_producer_id() -> None:
    """KIP-890: the client sees 32766, then epoch 0 of another id; repeated it sees the same."""
    story = Story()
    last = story.start()._replace(producer_epoch=32766)
    story.put(producer=last)
    story.add(last, A0)
    response = story.end(last, commit=True)
    rotated = ProducerIdentity(FIRST_PRODUCER_ID + 1, 0)
    assert (response.producer_id, response.producer_epoch) == rotated
    # The markers still belong to the producer that wrote.
    assert story.sent[0].producer == last._replace(producer_epoch=32767)
    # The client uses its new identity while the old one is still on its way out.
    assert story.add(rotated, A1) is Error.CONCURRENT_TRANSACTIONS
    story.crash()
    story.write_markers()
    assert story.metadata.producer == rotated
    assert story.metadata.next_producer_id == -1
    response = story.end(last, commit=True)
    assert response.error_code == Error.NONE
    assert (response.producer_id, response.producer_epoch) == rotated
    assert story.end(last, commit=False).error_code == Error.INVALID_TXN_STATE
    assert story.add(rotated, A1) is Error.NONE
    # With the next transaction open nobody may be the old one any more.
    assert story.end(last, commit=True).error_code == Error.INVALID_PRODUCER_ID_MAPPING


def test_without_a_fresh_producer_id_the_end_is_not_decided() -> None:
    """A coordinator that waits for a block of ids says so and changes nothing."""
    story = Story()
    last = story.start()._replace(producer_epoch=32766)
    story.put(producer=last)
    story.add(last, A0)
    story.has_producer_ids = False
    assert story.end(last, commit=True).error_code == Error.COORDINATOR_LOAD_IN_PROGRESS
    assert story.state == "Ongoing"


def test_a_producer_moves_from_v1_to_v2_within_a_transaction() -> None:
    """KIP-890: the version of the request counts, not the one that began the transaction."""
    story = Story()
    producer = story.start()
    story.add_v1(producer, A0)
    assert story.commit(producer) == producer._replace(producer_epoch=1)
    assert story.metadata.client_transaction_version == 2


def test_a_zombie_is_not_taken_for_the_one_whose_end_raised_the_epoch() -> None:
    """One epoch below the current one means a repeated end only if that end was one of v2."""
    story = Story()
    zombie = story.start()
    successor = story.start()
    story.add_v1(successor, A0)
    story.end(successor, commit=True, version=4)
    story.write_markers()
    assert story.metadata.producer.producer_epoch == zombie.producer_epoch + 1
    assert story.end(zombie, commit=True).error_code == Error.PRODUCER_FENCED


def test_notices_of_markers_may_come_twice_and_late() -> None:
    """Only the transaction that they are about is completed by them."""
    story = Story()
    producer = open_transaction(story)
    story.end(producer, commit=True)
    (markers,) = story.sent
    for _ in range(2):
        effects = story.shard.on_markers_written(ID, markers.producer, [A0, B0], story.now_ms)
        assert not effects.records
    story.write_markers()
    length = len(story.log)
    following = story.metadata.producer
    story.add(following, A0)
    story.end(following, commit=False)
    effects = story.shard.on_markers_written(ID, markers.producer, [A0, A1], story.now_ms)
    assert not effects.records
    assert not story.shard.on_markers_written("x", producer, [A0], story.now_ms).records
    assert story.state == "PrepareAbort"
    assert len(story.log) == length + 2


def test_a_transaction_without_partitions_ends_at_once() -> None:
    """AddPartitionsToTxn may name none: there is nobody to wait for."""
    story = Story()
    producer = story.start()
    assert story.add(producer) is Error.NONE
    assert story.state == "Ongoing"
    story.commit(producer)
    assert story.state == "CompleteCommit"
