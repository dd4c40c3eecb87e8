"""Clients that want more than they may have, and what a broker may give them.

    quota-holds     no life of a broker takes or gives more than the quota allows in its time: what
                    a window allows at once, what the time allows, and one request of each
                    connection, for a broker learns of a request by serving it
    progress        (of the world) they come to their end all the same

The quota is per broker, and a broker that starts again has forgotten what was used. While the storm
rages an administrator sets the quotas, changes them and sets them again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from headrace.records.builder import BatchBuilder
from headrace.testing.schedule import Schedule
from headrace.testing.simulated_network import SimulatedCall
from headrace.types import TopicPartition
from headrace.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from headrace.wire.messages.fetch import FetchRequest
from headrace.wire.messages.produce import ProduceRequest
from tests.simulation.cluster.clients import end_of
from tests.simulation.cluster.programs import Surroundings, fetch_request, produce_request
from tests.simulation.cluster.settings import PLAIN, QUOTA_WINDOWS
from tests.simulation.failure import InvariantBroken
from tests.simulation.processes import Ask, Life, Sleep
from tests.simulation.producers import first_error

WRITER: Final = "c/greedy-writer"
READER: Final = "c/greedy-reader"
WRITES: Final = 40
VALUE_BYTES: Final = 1_000
LIMITS: Final = {WRITER: (2_000, 3_000), READER: (4_000, 6_000)}
KEYS: Final = {WRITER: "producer_byte_rate", READER: "consumer_byte_rate"}
_WINDOW_MS: Final = QUOTA_WINDOWS * 1_000
# A request that waits for a muted connection is not given up before its time has come.
_PATIENCE_MS: Final = 20_000


@dataclass(slots=True)
class _Use:
    """What one life of a broker took from, or gave to, one client."""

    began_ms: int
    used: int = 0
    largest: int = 0
    connections: set[int] = field(default_factory=set)


class QuotaWitness:
    """Counts what the greedy clients get."""

    def __init__(self) -> None:
        self.throttled = 0
        self.served: dict[str, int] = {}  # bytes, by client
        self.since_ms = -1  # when the quotas were first known to hold
        self._is_written = False
        self._uses: dict[tuple[int, str], _Use] = {}

    # -- the programs -----------------------------------------------------------------------------

    def programs(self) -> dict[str, Callable[[Any], tuple[Life, None]]]:
        return {
            "c/quotas": lambda pen: (self._administer(pen), None),
            WRITER: lambda pen: (self._write(pen), None),
            READER: lambda pen: (self._read(pen), None),
        }

    def _administer(self, world: Surroundings) -> Life:
        """Set quotas, raise them, lower them again; whichever broker is asked."""
        for round_number in (0, 1, 0):
            for client, limits in LIMITS.items():
                request = quota_request(client, KEYS[client], limits[round_number])
                while True:
                    answer = yield Ask("quotas", request, 1, 3_000)
                    if answer is not None and not answer.entries[0].error_code:
                        break
                    yield Sleep(200)
            self.since_ms = world.now_ms if self.since_ms < 0 else self.since_ms
            yield Sleep(world.rng.randrange(2_000, 8_000))

    def _write(self, world: Surroundings) -> Life:
        """As much as it can; what is not answered is written again."""
        while self.since_ms < 0:
            yield Sleep(100)
        yield Sleep(3_000)  # every broker that lives has heard of it
        for number in range(WRITES):
            builder = BatchBuilder()
            builder.append(None, b"%d" % number + bytes(VALUE_BYTES), world.now_ms)
            batch = builder.build()
            while True:
                partitions = world.partitions(PLAIN)
                if partitions:
                    where = partitions[0]
                    answer = yield Ask("data", produce_request(where, batch, 1), 11, _PATIENCE_MS)
                    if answer is not None and not first_error(answer):
                        break
                yield Sleep(100)
        self._is_written = True

    def _read(self, world: Surroundings) -> Life:
        """Everything that the other writes, as fast as it can."""
        position = 0
        while self.since_ms < 0 or not world.partitions(PLAIN):
            yield Sleep(100)
        yield Sleep(3_000)
        where: TopicPartition = world.partitions(PLAIN)[0]
        while True:
            is_last = self._is_written
            request = fetch_request(where, position, committed_only=False)
            answer = yield Ask("reads", request, 12, _PATIENCE_MS)
            if answer is None or not answer.responses:
                yield Sleep(20)
                continue
            error, end = end_of(answer)
            if not error and end > position:
                position = end
            elif is_last and not error:
                return
            else:
                yield Sleep(50)

    # -- the judgement ----------------------------------------------------------------------------

    def beside(
        self, on_answer: Callable[[Any, SimulatedCall, Any], None], schedule: Schedule
    ) -> Callable[[Any, SimulatedCall, Any], None]:
        """Hear of every answer, and let the other witness hear of it too."""

        def heard(life: Any, call: SimulatedCall, response: Any) -> None:
            if call.client_id in LIMITS and self.since_ms >= 0:
                self._on_answer(life, call, response, schedule.now_ms)
            on_answer(life, call, response)

        return heard

    def _on_answer(self, life: Any, call: SimulatedCall, response: Any, now_ms: int) -> None:
        size = _size(call.request, response)
        if size < 0:
            return
        self.throttled += response.throttle_time_ms > 0
        client = call.client_id
        self.served[client] = self.served.get(client, 0) + size
        use = self._uses.setdefault((id(life), client), _Use(now_ms))
        use.used += size
        use.largest = max(use.largest, size)
        use.connections.add(id(call.connection))
        seconds = (now_ms - use.began_ms + _WINDOW_MS) / 1000
        allowed = max(LIMITS[client]) * seconds + use.largest * len(use.connections)
        if use.used > allowed:
            raise InvariantBroken(
                f"quota-holds: {life.name} served {use.used} bytes to {client} in {seconds} s over "
                f"{len(use.connections)} connections, where {allowed:.0f} are allowed"
            )


def _size(request: Any, response: Any) -> int:
    """What counts for the quota; -1 if it is another request."""
    if isinstance(request, ProduceRequest):
        return sum(
            len(data.records or b"")
            for topic in request.topic_data
            for data in topic.partition_data
        )
    if isinstance(request, FetchRequest):
        return sum(
            len(answer.records or b"")
            for topic in response.responses
            for answer in topic.partitions
        )
    return -1


def quota_request(client_id: str, key: str, value: float) -> AlterClientQuotasRequest:
    return AlterClientQuotasRequest(
        entries=[
            EntryData(
                entity=[EntityData(entity_type="client-id", entity_name=client_id)],
                ops=[OpData(key=key, value=value, remove=False)],
            )
        ],
        validate_only=False,
    )
