"""Producers, zombies, time-outs and crashes in any order: what must hold always does.

The machine plays producers of both protocols that share transactional ids, a sender of markers that
reports what it wrote in pieces, and a broker that crashes. It knows of each transaction who opened
it and what its end was, from nothing but the log.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headrace.coordinator.effects import Effects, ProducerIdentity, TransactionMarkers
from headrace.coordinator.transaction.metadata import TransactionMetadata, to_record
from headrace.coordinator.transaction.state import TRANSITIONS, TransactionState
from headrace.errors import Error
from headrace.types import TopicPartition
from tests.coordinator.transaction.story import A0, A1, B0, FIRST_PRODUCER_ID, Story
from tests.generated import examples
from tests.settings import transaction_settings

IDS = ["x", "y"]
PARTITIONS = st.sampled_from([A0, A1, B0])
MAX_CLIENTS = 6
PREPARED = {TransactionState.PREPARE_COMMIT: True, TransactionState.PREPARE_ABORT: False}
COMPLETE = {TransactionState.COMPLETE_COMMIT: True, TransactionState.COMPLETE_ABORT: False}
COMING_AGAIN = {Error.CONCURRENT_TRANSACTIONS}
REFUSALS = {
    Error.PRODUCER_FENCED,
    Error.INVALID_PRODUCER_ID_MAPPING,
    Error.INVALID_TXN_STATE,
    *COMING_AGAIN,
}


@dataclass(eq=False)
class Transaction:
    """One transaction as the log shows it."""

    partitions: frozenset[TopicPartition] = frozenset()
    commit: bool | None = None
    is_complete: bool = False
    marked: dict[TopicPartition, bool] = field(default_factory=dict)


@dataclass(eq=False)
class Client:
    """A producer, alive or a zombie; it does one thing after the other."""

    transactional_id: str
    producer: ProducerIdentity
    is_v2: bool
    transaction: Transaction | None = None
    deciding: bool | None = None  # an end that was not answered yet is repeated


class Watched(Story):
    """A coordinator whose log is read along."""

    def __init__(self) -> None:
        super().__init__(transaction_settings(transaction_version=2))
        self.transactions: dict[str, list[Transaction]] = {each: [] for each in IDS}
        self.last: dict[str, TransactionMetadata] = {}
        self.to_mark: list[tuple[Transaction, TransactionMarkers]] = []

    def perform(self, effects: Effects[Any, Any]) -> Any:
        response = None
        for record in effects.records:
            response = super().perform(Effects(records=[record]))
            self._read(record.key.transactional_id)
        response = super().perform(replace(effects, records=[]))
        for markers in effects.sends:
            transaction = self.transactions[markers.transactional_id][-1]
            assert transaction.commit is markers.commit
            self.to_mark.append((transaction, markers))
        self.sent.clear()
        return response

    def _read(self, transactional_id: str) -> None:
        """Check a record against the one before, and note what it says of its transaction."""
        before = self.last.get(transactional_id)
        now = self.shard.transactions.get(transactional_id)
        if now is None:
            assert before is not None
            assert before.is_idle
            del self.last[transactional_id]
            return
        self.last[transactional_id] = now
        transactions = self.transactions[transactional_id]
        if before is not None:
            assert now.state in TRANSITIONS[before.state]
            if now.producer.producer_id == before.producer.producer_id:
                assert now.producer.producer_epoch >= before.producer.producer_epoch
            else:
                assert now.producer == (now.producer.producer_id, 0)
                assert now.producer.producer_id > before.producer.producer_id
        was_idle = before is None or before.is_idle
        if now.state in (TransactionState.ONGOING, *PREPARED) and was_idle:
            assert all(each.is_complete for each in transactions)
            transactions.append(Transaction())
        if now.state is TransactionState.ONGOING:
            transactions[-1].partitions = now.partitions
        elif now.state in PREPARED:
            assert transactions[-1].commit is None
            transactions[-1].commit = PREPARED[now.state]
        elif now.state in COMPLETE:
            transaction = transactions[-1]
            assert transaction.commit is COMPLETE[now.state]
            assert transaction.marked.keys() == transaction.partitions
            transaction.is_complete = True

    def crash(self, *, keep: int | None = None) -> None:
        self.to_mark.clear()
        super().crash(keep=keep)


# Most of what happens is done by the producer that started last; the others are zombies.
AGES = st.sampled_from([1, 1, 1, 1, 2, 3])


class TransactionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.story = Watched()
        self.clients: list[Client] = []
        self.holders: dict[ProducerIdentity, Client] = {}
        self.ended: list[tuple[str, ProducerIdentity, bool]] = []

    @initialize(epoch=st.sampled_from([0, 32763]))
    def begin(self, epoch: int) -> None:
        """One of the ids is new; the other may be near the end of its epochs."""
        seeded = TransactionMetadata(
            "x", ProducerIdentity(FIRST_PRODUCER_ID - 1, epoch), 60_000, self.story.now_ms
        )
        self.story.perform(Effects(records=[to_record(seeded)]))

    def hold(self, client: Client, producer_id: int, epoch: int) -> None:
        """No identity is ever given to two producers."""
        client.producer = ProducerIdentity(producer_id, epoch)
        assert 0 <= epoch < 32767
        assert self.holders.setdefault(client.producer, client) is client

    def client(self, age: int) -> Client:
        return self.clients[max(-age, -len(self.clients))]

    @precondition(lambda self: len(self.clients) < MAX_CLIENTS)
    @rule(transactional_id=st.sampled_from(IDS), is_v2=st.booleans())
    def start(self, transactional_id: str, is_v2: bool) -> None:
        response = self.story.init(transactional_id=transactional_id)
        if response.error_code not in COMING_AGAIN:
            assert response.error_code == Error.NONE
            client = Client(transactional_id, ProducerIdentity(-1, -1), is_v2)
            self.hold(client, response.producer_id, response.producer_epoch)
            self.clients.append(client)

    @precondition(lambda self: self.clients)
    @rule(age=AGES)
    def resume(self, age: int) -> None:
        """KIP-360: after an error a producer names itself and begins anew."""
        client = self.client(age)
        response = self.story.init(client.producer, transactional_id=client.transactional_id)
        if response.error_code == Error.NONE:
            self.hold(client, response.producer_id, response.producer_epoch)
            client.transaction = client.deciding = None
        else:
            assert response.error_code in REFUSALS

    @precondition(lambda self: self.clients)
    @rule()
    def change_protocol(self) -> None:
        client = self.client(1)
        client.is_v2 = not client.is_v2

    @precondition(lambda self: self.clients)
    @rule(age=AGES, partitions=st.lists(PARTITIONS, min_size=1, unique=True))
    def add(self, age: int, partitions: list[TopicPartition]) -> None:
        self.add_by(self.client(age), partitions)

    def add_by(self, client: Client, partitions: list[TopicPartition]) -> None:
        if client.deciding is not None:
            return
        story = self.story
        if client.is_v2:
            error = story.add(
                client.producer, *partitions, transactional_id=client.transactional_id
            )
        else:
            error = story.add_offsets(client.producer, transactional_id=client.transactional_id)
        if error is not Error.NONE:
            assert error in REFUSALS
            return
        current = story.transactions[client.transactional_id][-1]
        assert client.transaction in (None, current), "a transaction was replaced unnoticed"
        assert current.commit is None
        client.transaction = current

    @precondition(lambda self: self.clients)
    @rule(age=AGES, commit=st.booleans())
    def end(self, age: int, commit: bool) -> None:
        self.end_by(self.client(age), commit)

    @precondition(lambda self: self.clients)
    @rule(commits=st.lists(st.booleans(), min_size=1, max_size=3), partition=PARTITIONS)
    def transact(self, commits: list[bool], partition: TopicPartition) -> None:
        """What a producer does all day."""
        client = self.client(1)
        for commit in commits:
            self.write_markers()
            self.add_by(client, [partition])
            self.end_by(client, commit)

    def end_by(self, client: Client, commit: bool) -> None:
        if client.deciding is None:
            client.deciding = commit
        commit = client.deciding
        before = client.producer
        response = self.story.end(
            before,
            commit=commit,
            version=5 if client.is_v2 else 4,
            transactional_id=client.transactional_id,
        )
        if response.error_code != Error.NONE:
            assert response.error_code in REFUSALS
            if response.error_code not in COMING_AGAIN:
                client.deciding = client.transaction = None
            return
        if client.transaction is not None:
            assert client.transaction.commit is commit, "told an outcome that is not in the log"
        if client.is_v2:
            self.hold(client, response.producer_id, response.producer_epoch)
            self.ended.append((client.transactional_id, before, commit))
        client.deciding = client.transaction = None

    @precondition(lambda self: self.ended)
    @rule(data=st.data())
    def repeat_an_end_long_after(self, data: st.DataObject) -> None:
        """A request of transactions v2 that was answered and comes once more changes nothing."""
        transactional_id, producer, commit = data.draw(st.sampled_from(self.ended))
        length = len(self.story.log)
        self.story.end(producer, commit=commit, transactional_id=transactional_id)
        assert len(self.story.log) == length

    @precondition(lambda self: self.story.to_mark)
    @rule(data=st.data())
    def write_a_marker(self, data: st.DataObject) -> None:
        transaction, markers = data.draw(st.sampled_from(self.story.to_mark))
        partition = data.draw(st.sampled_from(markers.partitions))
        self.mark(transaction, markers, partition)

    def mark(
        self, transaction: Transaction, markers: TransactionMarkers, partition: TopicPartition
    ) -> None:
        """Write one marker, perhaps again, and report it."""
        story = self.story
        if transaction.is_complete:
            if (transaction, markers) in story.to_mark:
                story.to_mark.remove((transaction, markers))
            return
        assert transaction.marked.setdefault(partition, markers.commit) is markers.commit
        story.perform(
            story.shard.on_markers_written(
                markers.transactional_id, markers.producer, [partition], story.now_ms
            )
        )

    @precondition(lambda self: self.story.to_mark)
    @rule()
    def write_all_markers(self) -> None:
        self.write_markers()

    def write_markers(self) -> None:
        for transaction, markers in list(self.story.to_mark):
            for partition in markers.partitions:
                self.mark(transaction, markers, partition)

    @rule(milliseconds=st.sampled_from([1, 5_000, 30_000, 65_000, 8 * 86_400_000]))
    def wait(self, milliseconds: int) -> None:
        story = self.story
        story.wait(milliseconds)
        latest_ms = (
            story.now_ms
            - 60_000
            - story.settings.transaction_abort_timed_out_transaction_cleanup_interval_ms
        )
        for metadata in story.shard.transactions.values():
            if metadata.state is TransactionState.ONGOING:
                assert metadata.start_ms >= latest_ms, "nobody aborted it"

    @rule()
    def crash(self) -> None:
        for transactions in self.story.transactions.values():
            for transaction in transactions:
                if not transaction.is_complete:
                    transaction.marked.clear()  # all markers are to be sent again
        self.story.crash()

    @rule(version=st.sampled_from([1, 2]))
    def finalize_feature(self, version: int) -> None:
        self.story.settings = transaction_settings(transaction_version=version)
        self.story.shard.settings = self.story.settings

    @invariant()
    def the_log_says_it_all(self) -> None:
        """A shard from all records, or from the last of each id, is equal to the one that runs."""
        assert self.story.loaded().transactions == self.story.shard.transactions
        latest = {record.key.transactional_id: record for record in self.story.log}
        compacted = self.story.loaded(latest.values())
        assert compacted.transactions == self.story.shard.transactions


TestTransactions = TransactionMachine.TestCase
TestTransactions.settings = settings(
    max_examples=examples(50), stateful_step_count=50, deadline=None
)
