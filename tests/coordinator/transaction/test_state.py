"""States, transitions and records are those of Apache Kafka; the page shows them as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.coordinator.effects import ProducerIdentity
from headrace.coordinator.transaction.metadata import (
    MAX_PRODUCER_EPOCH,
    TransactionMetadata,
    from_record,
    to_record,
)
from headrace.coordinator.transaction.records import (
    TransactionLogKey,
    TransactionLogValue,
    decode_record,
    encode_record,
)
from headrace.coordinator.transaction.state import TRANSITIONS, TransactionState, mermaid
from headrace.errors import CorruptData, InvariantViolated
from tests.coordinator.transaction.story import A0, A1, B0, ID

PAGE = Path(__file__).parents[3] / "docs" / "protocol" / "transactions.md"

# Which states Kafka lets come before which.
PREVIOUS = {
    "Empty": "Empty CompleteCommit CompleteAbort",
    "Ongoing": "Ongoing Empty CompleteCommit CompleteAbort",
    "PrepareCommit": "Ongoing",
    "PrepareAbort": "Ongoing PrepareEpochFence Empty CompleteCommit CompleteAbort",
    "CompleteCommit": "PrepareCommit",
    "CompleteAbort": "PrepareAbort",
    "Dead": "Empty CompleteAbort CompleteCommit",
    "PrepareEpochFence": "Ongoing",
}

METADATA = TransactionMetadata(
    transactional_id=ID,
    producer=ProducerIdentity(7, 3),
    timeout_ms=60_000,
    last_update_ms=2000,
    state=TransactionState.PREPARE_COMMIT,
    partitions=frozenset({A0, A1, B0}),
    start_ms=1000,
    previous_producer_id=7,
    next_producer_id=8,
    client_transaction_version=2,
)


def test_states_have_kafkas_numbers_and_names() -> None:
    """KIP-98, KIP-664: both are seen by others, in the log and by DescribeTransactions."""
    assert {int(state): state.label for state in TransactionState} == {
        0: "Empty",
        1: "Ongoing",
        2: "PrepareCommit",
        3: "PrepareAbort",
        4: "CompleteCommit",
        5: "CompleteAbort",
        6: "Dead",
        7: "PrepareEpochFence",
    }


def test_transitions_are_kafkas() -> None:
    """A state follows another if and only if Kafka allows it."""
    ours = {(state.label, next_.label) for state, after in TRANSITIONS.items() for next_ in after}
    kafkas = {(state, next_) for next_, before in PREVIOUS.items() for state in before.split()}
    assert ours == kafkas


def test_the_page_shows_the_transitions() -> None:
    """docs/protocol/transactions.md: the diagram is drawn from the dict."""
    assert f"```mermaid\n{mermaid()}\n```" in PAGE.read_text()


def test_no_state_follows_out_of_turn() -> None:
    """An outcome that is decided cannot be decided again: the process stops instead."""
    with pytest.raises(InvariantViolated, match="cannot become PrepareAbort: it is PrepareCommit"):
        METADATA.prepared(commit=False, version=2, now_ms=3000)


def through_bytes(metadata: TransactionMetadata) -> tuple[TransactionLogKey, TransactionLogValue]:
    record = decode_record(*encode_record(to_record(metadata)))
    assert record is not None
    assert isinstance(record.key, TransactionLogKey)
    assert isinstance(record.value, TransactionLogValue)
    return record.key, record.value


def test_metadata_survives_its_bytes() -> None:
    """KIP-915: what a record says is what was written, tagged fields included."""
    assert from_record(*through_bytes(METADATA)) == METADATA


def test_an_empty_transaction_has_no_partitions_in_its_record() -> None:
    """Kafka writes null, not an empty list, in the state Empty."""
    empty = METADATA._replace(state=TransactionState.EMPTY, partitions=frozenset())
    key, value = through_bytes(empty)
    assert value.transaction_partitions is None
    assert from_record(key, value) == empty


@pytest.mark.parametrize("status", [-1, 6, 7, 8, 127])
def test_a_state_that_nobody_writes_is_corrupt(status: int) -> None:
    """A record in an unknown state is reported by its transactional id."""
    key, value = through_bytes(METADATA)
    value.transaction_status = status
    with pytest.raises(CorruptData, match=f"'{ID}' in state {status}"):
        from_record(key, value)


def test_the_last_epoch_is_never_left_for_a_negative_one() -> None:
    """KAFKA-20090: an abort in the last epoch stays in it instead of running over."""
    last = METADATA._replace(
        state=TransactionState.ONGOING, producer=ProducerIdentity(7, MAX_PRODUCER_EPOCH)
    )
    assert last.fenced(0).producer.producer_epoch == MAX_PRODUCER_EPOCH
    aborted = last.fenced(2).prepared(commit=False, version=2, now_ms=1)
    assert aborted.producer.producer_epoch == MAX_PRODUCER_EPOCH
