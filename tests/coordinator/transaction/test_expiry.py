"""Transactions that never end are aborted, ids that nobody uses are forgotten (KIP-98, KIP-890)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.coordinator.effects import ProducerIdentity
from headrace.coordinator.transaction.expiry import Timer, TimerKind
from headrace.coordinator.transaction.settings import TransactionSettings
from headrace.errors import Error
from tests.coordinator.transaction.story import A0, A1, FIRST_PRODUCER_ID, ID, Story
from tests.settings import transaction_settings

V1 = transaction_settings(transaction_version=1)
V2 = transaction_settings(transaction_version=2)
DAY_MS = 86_400_000


@pytest.mark.parametrize("settings", [V1, V2])
def test_a_transaction_that_is_too_old_is_aborted(settings: TransactionSettings) -> None:
    """At most one interval after its time-out, not before it, and with the next epoch."""
    story = Story(settings)
    producer = story.start()
    story.add(producer, A0, A1)
    story.wait(60_000)
    assert story.state == "Ongoing"
    story.wait(10_000)
    assert story.state == "PrepareAbort"
    (markers,) = story.sent
    assert not markers.commit
    assert markers.partitions == (A0, A1)
    assert markers.producer == producer._replace(producer_epoch=1)
    assert markers.transaction_version == (2 if settings is V2 else 0)
    story.write_markers()
    assert story.state == "CompleteAbort"


def test_the_interval_is_a_setting() -> None:
    """transaction.abort.timed.out.transaction.cleanup.interval.ms: how late it may be."""
    story = Story(replace(V2, transaction_abort_timed_out_transaction_cleanup_interval_ms=100))
    producer = story.start()
    story.add(producer, A0)
    story.wait(60_000)
    assert story.state == "Ongoing"
    story.wait(100)
    assert story.state == "PrepareAbort"


def test_what_is_due_within_an_interval_is_due_at_once() -> None:
    """A broker with a million producers wakes up once per interval, not once per producer."""
    story = Story()
    for name in ("x", "y"):
        story.add(story.start(name), A0, transactional_id=name)
        story.wait(1)
    assert story.shard.timers.next_wake_ms() is not None
    due = [
        story.shard.timers.deadline_ms(Timer(TimerKind.TRANSACTION_TIMEOUT, name))
        for name in ("x", "y")
    ]
    assert due[0] == due[1]


def test_adding_partitions_does_not_prolong_a_transaction() -> None:
    """The time-out counts from the first partition on."""
    story = Story()
    producer = story.start()
    story.add(producer, A0)
    story.wait(50_000)
    story.add(producer, A1)
    story.wait(20_000)
    assert story.state == "PrepareAbort"


def test_a_time_out_of_one_transaction_does_not_hit_the_next() -> None:
    """A timer that is due looks again at what there is."""
    story = Story()
    producer = story.start()
    story.add(producer, A0)
    story.wait(50_000)
    producer = story.commit(producer)
    story.add(producer, A0)
    story.wait(50_000)
    assert story.state == "Ongoing"
    story.wait(20_000)
    assert story.state == "PrepareAbort"


@pytest.mark.parametrize("version", [1, 4])
def test_the_zombie_of_v1_is_fenced(version: int) -> None:
    """Its producer comes back after the time-out and can neither commit nor add."""
    story = Story(V1)
    producer = story.start()
    story.add_v1(producer, A0)
    story.wait(70_000)
    error = Error.PRODUCER_FENCED if version == 4 else Error.INVALID_PRODUCER_EPOCH
    assert story.end(producer, commit=True, version=version).error_code == error
    story.write_markers()
    assert story.end(producer, commit=True, version=version).error_code == error
    assert story.add_v1(producer, A0) is Error.PRODUCER_FENCED


def test_the_zombie_of_v2_may_abort_what_is_aborted() -> None:
    """KIP-890: its commit is invalid, its abort is as told, and it goes on with the next epoch."""
    story = Story(V2)
    producer = story.start()
    story.add(producer, A0)
    story.wait(70_000)
    assert story.add(producer, A1) is Error.CONCURRENT_TRANSACTIONS
    assert story.end(producer, commit=True).error_code == Error.CONCURRENT_TRANSACTIONS
    story.write_markers()
    assert story.add(producer, A1) is Error.PRODUCER_FENCED
    assert story.end(producer, commit=True).error_code == Error.INVALID_TXN_STATE
    response = story.end(producer, commit=False)
    assert response.error_code == Error.NONE
    assert response.producer_epoch == producer.producer_epoch + 1


def test_a_time_out_in_the_last_epoch_gives_a_fresh_producer_id() -> None:
    """KAFKA-20090: no client is ever told the epoch that fences the last one."""
    story = Story()
    last = story.start()._replace(producer_epoch=32766)
    story.put(producer=last)
    story.add(last, A0)
    story.wait(70_000)
    story.write_markers()
    response = story.end(last, commit=False)
    assert response.error_code == Error.NONE
    rotated = ProducerIdentity(FIRST_PRODUCER_ID + 1, 0)
    assert (response.producer_id, response.producer_epoch) == rotated


def test_without_a_fresh_producer_id_the_time_out_is_tried_again() -> None:
    """A transaction is not left open for ever because ids were missing once."""
    story = Story()
    last = story.start()._replace(producer_epoch=32766)
    story.put(producer=last)
    story.add(last, A0)
    story.has_producer_ids = False
    story.wait(70_000)
    assert story.state == "Ongoing"
    story.has_producer_ids = True
    story.wait(10_000)
    assert story.state == "PrepareAbort"


def test_a_restart_does_not_forget_the_time_out() -> None:
    """The start is in the log: a new coordinator aborts when the old one would have."""
    story = Story()
    producer = story.start()
    story.add(producer, A0)
    story.wait(50_000)
    story.crash()
    story.wait(20_000)
    assert story.state == "PrepareAbort"


def test_a_transaction_that_another_system_decides_has_no_time_out() -> None:
    """KIP-939: a log that was Kafka's may hold one; only its owner may end it."""
    story = Story()
    producer = story.start()
    story.put(timeout_ms=2**31 - 1)
    story.add(producer, A0)
    story.wait(60 * DAY_MS)
    assert story.state == "Ongoing"


def test_an_unused_id_is_forgotten() -> None:
    """transactional.id.expiration.ms after its last change, with a tombstone."""
    story = Story()
    producer = story.start()
    story.wait(5 * DAY_MS)
    story.add(producer, A0)
    following = story.commit(producer)
    story.wait(6 * DAY_MS)
    assert ID in story.shard.transactions
    story.wait(DAY_MS + 3_600_000)
    assert ID not in story.shard.transactions
    assert story.log[-1].value is None
    assert len(story.shard.timers) == 0
    story.crash()
    assert len(story.shard.timers) == 0
    assert story.add(following, A0) is Error.INVALID_PRODUCER_ID_MAPPING
    # Who comes now is somebody new.
    assert story.start() == ProducerIdentity(FIRST_PRODUCER_ID + 1, 0)


def test_a_longer_life_that_was_set_meanwhile_counts() -> None:
    """A timer that was set for less looks again later."""
    story = Story()
    story.start()
    story.shard.settings = replace(V2, transactional_id_expiration_ms=20 * DAY_MS)
    story.wait(10 * DAY_MS)
    assert ID in story.shard.transactions
    story.wait(11 * DAY_MS)
    assert ID not in story.shard.transactions


def test_an_open_transaction_keeps_its_id() -> None:
    """Nothing expires while it is used, however long that takes."""
    story = Story(replace(V2, transaction_max_timeout_ms=30 * DAY_MS))
    response = story.init(timeout_ms=20 * DAY_MS)
    producer = ProducerIdentity(response.producer_id, response.producer_epoch)
    story.add(producer, A0)
    story.wait(19 * DAY_MS)
    assert story.state == "Ongoing"
    story.wait(2 * DAY_MS)
    assert story.state == "PrepareAbort"
    story.wait(30 * DAY_MS)
    assert story.state == "PrepareAbort", "markers are never given up"
