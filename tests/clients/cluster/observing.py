"""What the brokers of a cluster say of its partitions, and waiting until they say otherwise."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from headrace.errors import Error
from headrace.wire.messages.elect_leaders import ElectLeadersRequest
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.clients.raw import Connection, ConnectionClosed
from tests.clients.requests import (
    CREATE_TOPICS_VERSION,
    METADATA_VERSION,
    create_topics_request,
    metadata_request,
)

if TYPE_CHECKING:
    from headrace.testing import Cluster

T = TypeVar("T")

PATIENCE_S = 25
GROUP, TRANSACTION = 0, 1  # whose coordinator


class Seen(NamedTuple):
    """A partition as one broker tells it."""

    error: Error
    leader: int
    epoch: int
    replicas: list[int]
    isr: set[int]
    offline: set[int]


class Observer:
    """Asks brokers; every question goes over a connection of its own, for brokers come and go."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    @contextmanager
    def connected(self, broker_id: int) -> Iterator[Connection]:
        with Connection(self.cluster.broker(broker_id).bootstrap_servers) as connection:
            yield connection

    def ask(self, broker_id: int, request: Any, version: int) -> Any:
        with self.connected(broker_id) as connection:
            return connection.ask(request, version)

    def ask_any(self, request: Any, version: int) -> Any:
        """The answer of the first broker that runs."""
        return self.ask(self.alive()[0], request, version)

    def alive(self) -> list[int]:
        return [broker.id for broker in self.cluster.brokers if broker.running]

    def partitions(self, topic: str, broker_id: int | None = None) -> list[Seen]:
        """The partitions of a topic; none where it is not known."""
        asked = self.alive()[0] if broker_id is None else broker_id
        (found,) = self.ask(asked, metadata_request(topic), METADATA_VERSION).topics
        return [
            Seen(
                Error(each.error_code),
                each.leader_id,
                each.leader_epoch,
                list(each.replica_nodes),
                set(each.isr_nodes),
                set(each.offline_replicas),
            )
            for each in sorted(found.partitions, key=lambda each: each.partition_index)
        ]

    def partition(self, topic: str, index: int = 0, broker_id: int | None = None) -> Seen:
        return self.partitions(topic, broker_id)[index]

    def leader(self, topic: str, index: int = 0) -> int:
        return self.until(
            lambda: self.partition(topic, index).leader, lambda leader: leader >= 0, "a leader"
        )

    def controller(self) -> int:
        """The controller that all living brokers name, which is itself alive."""

        def named() -> set[int]:
            return {
                self.ask(each, metadata_request(), METADATA_VERSION).controller_id
                for each in self.alive()
            }

        (controller,) = self.until(
            named, lambda ids: len(ids) == 1 and ids <= set(self.alive()), "one controller"
        )
        return controller

    # -- waiting ----------------------------------------------------------------------------------

    def until(
        self, look: Callable[[], T], is_right: Callable[[T], bool], what: str, patience_s: int = 0
    ) -> T:
        """Look again and again until it is right; what was seen last is told if it never is."""
        deadline = time.monotonic() + (patience_s or PATIENCE_S)
        seen: Any = None
        while time.monotonic() < deadline:
            try:
                seen = look()
                if is_right(seen):
                    return seen  # type: ignore[no-any-return]
            except (OSError, ConnectionClosed, IndexError) as fault:
                seen = fault
            time.sleep(0.02)
        raise AssertionError(f"not {what} within {patience_s or PATIENCE_S} s, but {seen}")

    def coordinator(self, key: str, key_type: int) -> int:
        """The coordinator that all living brokers name."""
        request = FindCoordinatorRequest(key=key, key_type=key_type)

        def look() -> set[tuple[int, int]]:
            answers = [self.ask(each, request, 3) for each in self.alive()]
            return {(answer.error_code, answer.node_id) for answer in answers}

        ((_, node_id),) = self.until(
            look, lambda found: len(found) == 1 and next(iter(found))[0] == 0, "one coordinator"
        )
        return node_id

    def until_all_know_all(self) -> None:
        """Wait until every broker knows every other, and one of them is the controller."""
        everybody = {broker.id for broker in self.cluster.brokers}

        def look() -> list[set[int]]:
            answers = [self.ask(each, metadata_request(), METADATA_VERSION) for each in everybody]
            return [{each.node_id for each in answer.brokers} for answer in answers]

        self.until(look, lambda known: all(each == everybody for each in known), "complete")
        self.controller()

    def until_isr(self, topic: str, isr: Sequence[int], index: int = 0) -> Seen:
        """Wait until all living brokers name exactly these in-sync replicas, and a leader."""

        def look() -> list[Seen]:
            return [self.partition(topic, index, each) for each in self.alive()]

        seen = self.until(
            look,
            lambda found: all(each.isr == set(isr) and each.leader >= 0 for each in found),
            f"in sync on {isr}",
        )
        return seen[0]

    def until_led_by(self, topic: str, leader: int, index: int = 0) -> Seen:
        """Wait until all living brokers name this leader."""

        def look() -> list[Seen]:
            return [self.partition(topic, index, each) for each in self.alive()]

        seen = self.until(
            look, lambda found: {each.leader for each in found} == {leader}, f"led by {leader}"
        )
        return seen[0]

    def lead_by_preference(self, topic: str) -> None:
        """Give the partitions back to whom they prefer: brokers that died led none since.

        Two deaths, one after the other, can leave a single leader for everything.
        """
        self.until(
            lambda: self.partitions(topic),
            lambda found: found != [] and all(each.isr == set(each.replicas) for each in found),
            "in sync everywhere",
        )
        request = ElectLeadersRequest(election_type=0, topic_partitions=None)
        answer = self.ask(self.controller(), request, 2)
        assert answer.error_code == Error.NONE, answer
        for index, partition in enumerate(self.partitions(topic)):
            self.until_led_by(topic, partition.replicas[0], index)

    def create_topic(
        self,
        name: str,
        assignments: dict[int, list[int]],
        config: dict[str, str | None] | None = None,
    ) -> None:
        request = create_topics_request(
            name, partitions=-1, assignments=assignments, config=config or {}
        )
        (created,) = self.ask_any(request, CREATE_TOPICS_VERSION).topics
        assert created.error_code == Error.NONE, created.error_message
        for index, replicas in assignments.items():
            self.until_isr(name, replicas, index)
