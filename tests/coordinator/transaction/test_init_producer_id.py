"""InitProducerId: identities, fencing, and producers that go on after an error (KIP-360)."""

from __future__ import annotations

import pytest

from headrace.coordinator.effects import ProducerIdentity
from headrace.errors import Error
from headrace.wire.messages.init_producer_id import InitProducerIdResponse
from tests.coordinator.transaction.story import A0, FIRST_PRODUCER_ID, NOBODY, Story
from tests.settings import transaction_settings

FIRST = ProducerIdentity(FIRST_PRODUCER_ID, 0)
V1 = transaction_settings(transaction_version=1)


def identity(response: InitProducerIdResponse) -> ProducerIdentity:
    assert response.error_code == Error.NONE
    return ProducerIdentity(response.producer_id, response.producer_epoch)


def test_a_new_transactional_id_gets_a_fresh_producer_id() -> None:
    """KIP-98: epoch 0 of a producer id that nobody had; the state is Empty."""
    story = Story()
    assert identity(story.init()) == FIRST
    assert story.state == "Empty"
    assert story.states_written == [0]


@pytest.mark.spec("book2:O-13")
def test_each_start_fences_the_one_before() -> None:
    """The second producer with the same transactional id gets the next epoch of the same id."""
    story = Story()
    zombie = story.start()
    successor = story.start()
    assert successor == FIRST._replace(producer_epoch=1)
    assert story.add(zombie, A0) is Error.PRODUCER_FENCED
    assert story.add(successor, A0) is Error.NONE


@pytest.mark.parametrize("timeout_ms", [-1, 0, 900_001, 2**31 - 1])
def test_a_time_out_out_of_bounds_is_refused(timeout_ms: int) -> None:
    """Above transaction.max.timeout.ms, or none at all: INVALID_TRANSACTION_TIMEOUT."""
    story = Story()
    assert story.init(timeout_ms=timeout_ms).error_code == Error.INVALID_TRANSACTION_TIMEOUT
    assert not story.log


def test_the_longest_time_out_is_taken() -> None:
    """transaction.max.timeout.ms itself is allowed."""
    story = Story()
    assert story.init(timeout_ms=900_000).error_code == Error.NONE
    assert story.metadata.timeout_ms == 900_000


@pytest.mark.parametrize("named", [ProducerIdentity(5, -1), ProducerIdentity(-1, 5)])
def test_half_an_identity_is_refused(named: ProducerIdentity) -> None:
    """KIP-360: a producer names its id and its epoch, or neither."""
    assert Story().init(named).error_code == Error.INVALID_REQUEST


@pytest.mark.parametrize("transactional_id", ["", None])
def test_a_transactional_id_is_needed(transactional_id: str | None) -> None:
    """An empty one is invalid; producers without one have no business with this coordinator."""
    assert Story().init(transactional_id=transactional_id).error_code == Error.INVALID_REQUEST


@pytest.mark.spec("slides:E09")
@pytest.mark.parametrize("transaction_version", [1, 2])
def test_an_open_transaction_is_aborted_before_the_successor_is_let_in(
    transaction_version: int,
) -> None:
    """The newcomer is told to come again; the zombie is fenced from the first moment on."""
    story = Story(transaction_settings(transaction_version=transaction_version))
    zombie = story.start()
    story.add(zombie, A0)
    response = story.init()
    assert response.error_code == Error.CONCURRENT_TRANSACTIONS
    assert (response.producer_id, response.producer_epoch) == NOBODY
    assert story.state == "PrepareAbort"
    assert [markers.commit for markers in story.sent] == [False]
    assert story.init().error_code == Error.CONCURRENT_TRANSACTIONS
    story.write_markers()
    assert story.state == "CompleteAbort"
    successor = identity(story.init())
    # One epoch to fence the zombie, one for the successor.
    assert successor == FIRST._replace(producer_epoch=2)
    assert story.end(zombie, commit=True).error_code == Error.PRODUCER_FENCED
    assert story.add(zombie, A0) is Error.PRODUCER_FENCED


def test_a_producer_that_names_itself_gets_the_next_epoch() -> None:
    """KIP-360: it goes on after an error, and repeated it gets the same answer."""
    story = Story()
    producer = story.start()
    renewed = identity(story.init(producer))
    assert renewed == FIRST._replace(producer_epoch=1)
    assert identity(story.init(producer)) == renewed
    assert identity(story.init(renewed)) == FIRST._replace(producer_epoch=2)
    assert story.init(producer).error_code == Error.PRODUCER_FENCED


def test_an_answer_is_repeated_only_while_it_holds() -> None:
    """KIP-360: once the producer went on, whoever asks as its former self is somebody else."""
    story = Story()
    producer = story.start()
    renewed = identity(story.init(producer))
    story.add(renewed, A0)
    story.commit(renewed)
    assert story.init(producer).error_code == Error.PRODUCER_FENCED


def test_a_stranger_does_not_abort_an_open_transaction() -> None:
    """KIP-360: another producer id is fenced before anything is done."""
    story = Story()
    producer = story.start()
    story.add(producer, A0)
    assert story.init(ProducerIdentity(5, 0)).error_code == Error.PRODUCER_FENCED
    assert story.state == "Ongoing"


def test_a_newcomer_fences_a_producer_that_names_itself() -> None:
    """KIP-360: the epoch before the newcomer's is not one that may be repeated."""
    story = Story()
    zombie = story.start()
    story.start()
    assert story.init(zombie).error_code == Error.PRODUCER_FENCED


def test_a_repeated_request_is_fenced_after_a_restart() -> None:
    """The log does not say who was answered, so nobody can pass for it; Kafka does the same."""
    story = Story()
    producer = story.start()
    story.init(producer)
    story.crash()
    assert story.init(producer).error_code == Error.PRODUCER_FENCED


def test_another_producer_id_is_fenced() -> None:
    """KIP-360: who names an id that is not the transactional id's own is not its producer."""
    story = Story()
    story.start()
    assert story.init(ProducerIdentity(5, 0)).error_code == Error.PRODUCER_FENCED


def test_a_producer_may_name_itself_to_a_coordinator_that_forgot_it() -> None:
    """After the transactional id expired anybody gets a fresh producer id."""
    assert identity(Story().init(ProducerIdentity(5, 9))) == FIRST


def test_old_clients_know_no_fencing() -> None:
    """KIP-588: below version 4 a fenced producer has an invalid epoch."""
    story = Story()
    zombie = story.start()
    story.start()
    assert story.init(zombie, version=3).error_code == Error.INVALID_PRODUCER_EPOCH
    assert story.init(zombie, version=4).error_code == Error.PRODUCER_FENCED


def test_a_repeated_init_sees_the_end_of_a_transaction_that_changed_the_epoch() -> None:
    """KIP-890: whoever ended a transaction and did not hear of it gets what it would have heard."""
    story = Story()
    producer = story.start()
    story.add(producer, A0)
    following = story.commit(producer)
    story.crash()
    assert identity(story.init(producer)) == following


def test_the_last_epoch_is_followed_by_a_fresh_producer_id() -> None:
    """Epoch 32766 is the last that a producer may have; the next start changes the id."""
    story = Story()
    producer = story.start()._replace(producer_epoch=32766)
    story.put(producer=producer)
    rotated = ProducerIdentity(FIRST_PRODUCER_ID + 1, 0)
    assert identity(story.init(producer)) == rotated
    assert story.metadata.previous_producer_id == FIRST_PRODUCER_ID
    # Repeated with the identity that is gone.
    assert identity(story.init(producer)) == rotated
    # An older one of the same id has been fenced long ago.
    assert story.init(producer._replace(producer_epoch=5)).error_code == Error.PRODUCER_FENCED


def test_a_zombie_of_the_last_epoch_is_fenced_by_the_one_above() -> None:
    """Transactions v1: the coordinator keeps epoch 32767 to itself."""
    story = Story(V1)
    zombie = story.start()._replace(producer_epoch=32766)
    story.put(producer=zombie)
    assert story.add_v1(zombie, A0) is Error.NONE
    assert story.init().error_code == Error.CONCURRENT_TRANSACTIONS
    assert story.metadata.producer.producer_epoch == 32767
    story.write_markers()
    assert story.init(zombie).error_code == Error.PRODUCER_FENCED
    assert identity(story.init()) == ProducerIdentity(FIRST_PRODUCER_ID + 1, 0)


def test_without_a_fresh_producer_id_the_client_comes_again() -> None:
    """A coordinator that waits for a block of ids says so and changes nothing."""
    story = Story()
    story.has_producer_ids = False
    assert story.init().error_code == Error.COORDINATOR_LOAD_IN_PROGRESS
    assert not story.log
