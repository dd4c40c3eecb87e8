"""A coordinator that crashes at any point goes on as if it had not."""

from __future__ import annotations

import pytest

from headrace.coordinator.effects import ProducerIdentity
from headrace.coordinator.transaction.metadata import to_record
from headrace.errors import Error
from tests.coordinator.transaction.story import A0, A1, B0, FIRST_PRODUCER_ID, Story

# InitProducerId, first partition, second partition, decision, completion.
LENGTH = 5


def committed(story: Story) -> ProducerIdentity:
    producer = story.start()
    story.add(producer, A0)
    story.add(producer, A1)
    story.end(producer, commit=True)
    story.write_markers()
    assert len(story.log) == LENGTH
    return producer


@pytest.mark.spec("slides:E12")
@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("keep", range(1, LENGTH + 1))
def test_an_end_is_repeated_after_a_crash_at_every_point(keep: int, commit: bool) -> None:
    """The client repeats its end until it is answered; the log alone decides what it is told.

    Up to the decision any outcome is possible, after it only the one decided.
    """
    story = Story()
    producer = committed(story)
    story.markers.clear()
    story.crash(keep=keep)
    response = story.end(producer, commit=commit)
    if response.error_code == Error.CONCURRENT_TRANSACTIONS:
        assert keep == 4
        story.write_markers()
        response = story.end(producer, commit=commit)
    is_decided = keep >= 4
    if keep == 1 and commit:
        # The partitions are lost with the log: nothing was acknowledged, nothing is committed.
        assert response.error_code == Error.INVALID_TXN_STATE
        return
    if is_decided and not commit:
        assert response.error_code == Error.INVALID_TXN_STATE
        assert story.state == "CompleteCommit"
        return
    assert response.error_code == Error.NONE
    assert response.producer_id == FIRST_PRODUCER_ID
    assert response.producer_epoch == producer.producer_epoch + 1
    story.write_markers()
    assert story.state == ("CompleteCommit" if commit else "CompleteAbort")
    assert {markers.commit for _, markers in story.markers} <= {commit}


def test_markers_are_sent_again_after_a_crash() -> None:
    """A commit that was acknowledged is completed: no marker is dropped, none changes sides."""
    story = Story()
    producer = story.start()
    story.add(producer, A0, A1, B0)
    story.end(producer, commit=True)
    story.write_markers(A1)
    epoch = story.sent[0].coordinator_epoch
    story.crash()
    (markers,) = story.sent
    assert markers.commit
    assert markers.producer == producer._replace(producer_epoch=1)
    # Which markers arrived is not in the log, and a marker may be written twice.
    assert markers.partitions == (A0, A1, B0)
    assert markers.coordinator_epoch == epoch + 1
    story.write_markers()
    assert story.state == "CompleteCommit"


def test_a_new_producer_after_the_crash_cannot_turn_the_commit_around() -> None:
    """It waits until the commit is complete; there is nothing left to abort then."""
    story = Story()
    producer = story.start()
    story.add(producer, A0)
    story.end(producer, commit=True)
    story.crash()
    assert story.init().error_code == Error.CONCURRENT_TRANSACTIONS
    story.wait(120_000)
    assert story.state == "PrepareCommit"
    story.write_markers()
    successor = story.start()
    assert {markers.commit for _, markers in story.markers} == {True}
    assert successor.producer_epoch == 2


def test_an_end_without_partitions_is_completed_at_load() -> None:
    """A log that was Kafka's may end between the two records that are written here as one."""
    story = Story()
    producer = story.start()
    aborted = story.metadata.prepared(commit=False, version=2, now_ms=story.now_ms)
    story.log.append(to_record(aborted))
    story.crash()
    assert story.state == "CompleteAbort"
    assert story.metadata.producer == producer._replace(producer_epoch=1)


def test_nothing_is_sent_for_what_is_complete_or_undecided() -> None:
    """A load alone changes nothing and tells nobody anything."""
    story = Story()
    committed(story)
    open_one = story.start()
    story.add(open_one, A0)
    length = len(story.log)
    story.crash()
    assert story.sent == []
    assert len(story.log) == length
    assert story.state == "Ongoing"
