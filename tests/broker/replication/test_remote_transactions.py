"""Leaders that ask a transaction coordinator on another broker before they write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headrace.broker.groups.coordinators import Coordinators
from headrace.broker.transactions.admission import as_told_to_committer, as_told_to_producer
from headrace.broker.transactions.remote import RemoteTransactions
from headrace.broker.transactions.verification_guards import Guards
from headrace.coordinator.effects import ProducerIdentity
from headrace.coordinator.transaction.partitions import flattened, topic_results
from headrace.errors import ClientFault, Error
from headrace.types import TopicPartition
from headrace.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
)
from tests.broker.replication.fake_broker import FakeBroker, fake_broker, run
from tests.broker.replication.nodes import TOPIC, Nodes, nodes
from tests.broker.replication.test_fetchers import register

PRODUCER = ProducerIdentity(7, 1)
STATE = "__transaction_state"
WHERE = TopicPartition(TOPIC, 0)


class States:
    """The coordinators of broker 2, as far as they know who leads."""

    topic_name = STATE
    leader_of = Coordinators.leader_of

    def __init__(self, cluster: Nodes) -> None:
        self._metadata = SimpleNamespace(image=cluster.image)

    def index_of(self, _name: str) -> int:
        return 0


class Asking:
    """Broker 2 leads a partition; the coordinator is broker 1, which a test plays."""

    def __init__(self, cluster: Nodes, fake: FakeBroker) -> None:
        self.cluster = cluster
        self.fake = fake
        self.guards = Guards()
        cluster.topic(2, [2])
        cluster.topic(1, [1], STATE)
        cluster[2].take_role()
        register(cluster, fake.port)
        self.remote = RemoteTransactions(
            cluster[2].peers, cluster[2].storage, cast("Any", States(cluster)), self.guards
        )

    async def admit(self, transactional_id: str = "id", *, adds: bool = False) -> Error:
        errors = await self.remote.admit_remote(transactional_id, PRODUCER, [WHERE], adds=adds)
        return errors[WHERE]


@asynccontextmanager
async def asking(folder: Path, error: Error = Error.NONE) -> AsyncIterator[Asking]:
    async def answer(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        return decided(request, error)

    async with (
        nodes(folder, [2]) as cluster,
        fake_broker({AddPartitionsToTxnRequest: answer}) as it,
    ):
        yield Asking(cluster, it)


def decided(request: AddPartitionsToTxnRequest, error: Error) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(
                transactional_id=entry.transactional_id,
                topic_results=topic_results(
                    entry.topics, dict.fromkeys(flattened(entry.topics), error)
                ),
            )
            for entry in request.transactions
        ]
    )


@pytest.mark.parametrize("adds", [True, False], ids=["v2 adds", "v1 verifies"])
def test_the_coordinator_elsewhere_decides(tmp_path: Path, adds: bool) -> None:
    """A producer of transactions v2 has its partition added, one of v1 has it verified."""

    async def story() -> None:
        async with asking(tmp_path) as here:
            assert here.remote.is_elsewhere("id")
            assert await here.admit(adds=adds) is Error.NONE
            _, version, request = here.fake.heard[-1]
            (entry,) = request.transactions
            assert version >= 4
            assert entry.verify_only is not adds
            assert (entry.transactional_id, entry.producer_id, entry.producer_epoch) == ("id", 7, 1)
            assert flattened(entry.topics) == [WHERE]

    run(story())


def test_its_refusal_is_passed_on(tmp_path: Path) -> None:
    """The error of the coordinator reaches whoever wanted to write."""

    async def story() -> None:
        async with asking(tmp_path, Error.PRODUCER_FENCED) as here:
            assert await here.admit() is Error.PRODUCER_FENCED

    run(story())


def test_questions_that_come_together_leave_together(tmp_path: Path) -> None:
    """Ten writes of ten transactions, and two of one, are one request."""

    async def story() -> None:
        async with asking(tmp_path) as here:
            asked = [here.admit(f"id-{number}") for number in range(10)] + [here.admit("id-0")]
            assert set(await asyncio.gather(*asked)) == {Error.NONE}
            (request,) = [each[2] for each in here.fake.heard[1:]]
            assert len(request.transactions) == 10

    run(story())


def test_an_end_that_overtakes_the_answer_voids_it(tmp_path: Path) -> None:
    """The marker is written between the coordinator's yes and the write: it must not be written."""

    async def story() -> None:
        async with asking(tmp_path) as here:

            async def marker_first(request: AddPartitionsToTxnRequest) -> Any:
                here.guards.on_marker(WHERE, PRODUCER.producer_id)
                return decided(request, Error.NONE)

            here.fake.answers[AddPartitionsToTxnRequest] = marker_first
            assert await here.admit() is Error.INVALID_TXN_STATE

            async def marker_of_another(request: AddPartitionsToTxnRequest) -> Any:
                here.guards.on_marker(WHERE, 99)
                here.guards.on_marker(TopicPartition("other", 0), PRODUCER.producer_id)
                return decided(request, Error.NONE)

            here.fake.answers[AddPartitionsToTxnRequest] = marker_of_another
            assert await here.admit() is Error.NONE

    run(story())


def test_leadership_that_was_lost_in_between_voids_the_answer(tmp_path: Path) -> None:
    """Another leader may have written the end: this one leads again and does not know of it. The
    client asks again; only a transaction that has ended here is told to its application.
    """

    async def story() -> None:
        async with asking(tmp_path) as here:

            async def elected_anew(request: AddPartitionsToTxnRequest) -> Any:
                here.cluster.elect(2)
                here.cluster[2].take_role()
                return decided(request, Error.NONE)

            here.fake.answers[AddPartitionsToTxnRequest] = elected_anew
            assert await here.admit() is Error.NOT_LEADER_OR_FOLLOWER

    run(story())


def test_a_coordinator_that_does_not_answer_lets_clients_come_again(tmp_path: Path) -> None:
    """An unreachable or missing coordinator becomes the error that every client repeats for."""

    async def story() -> None:
        async with asking(tmp_path) as here:
            del here.cluster.image.brokers[1]
            error = await here.admit()
            assert error is Error.NETWORK_EXCEPTION
            told = as_told_to_producer(error, knows_abortable=True)
            assert told is Error.NOT_ENOUGH_REPLICAS
            told = as_told_to_committer(error, knows_abortable=True)
            assert told is Error.COORDINATOR_LOAD_IN_PROGRESS
            here.cluster.elect(-1, STATE)
            assert not here.remote.is_elsewhere("id")
            assert await here.admit() is Error.COORDINATOR_NOT_AVAILABLE
            with pytest.raises(ClientFault):
                Coordinators.leader_of(cast("Any", States(here.cluster)), "id")

    run(story())


def test_whoever_waits_at_the_end_is_told(tmp_path: Path) -> None:
    """A broker that shuts down leaves no write waiting."""

    async def story() -> None:
        async with asking(tmp_path) as here:

            async def never(_request: AddPartitionsToTxnRequest) -> None:
                await asyncio.Event().wait()

            here.fake.answers[AddPartitionsToTxnRequest] = never
            waiting = asyncio.create_task(here.admit())
            await here.fake.until(lambda: len(here.fake.heard) == 2)
            await here.cluster[2].peers.close()
            assert await waiting is Error.NETWORK_EXCEPTION

    run(story())
