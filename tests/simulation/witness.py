"""Looks at everything after every event, and says which invariant is broken.

    answered-once             every request is answered once, or its connection was lost
    one-owner                 no partition has two owners in a group
    epochs-grow               generations and epochs never go back
    groups-survive            a group is there after a crash, with what its members were told
    commits-as-acknowledged   what is committed is what was acknowledged, or came after it
    commits-survive           an acknowledged commit is there after a crash
    offsets-go-forward        offsets that transactions commit never go back
    only-committed-is-visible readers of committed records see nothing aborted or undecided
    stable-goes-forward       the last stable offset never goes back
    one-outcome               no transaction is told to be committed and aborted
    exactly-once              no input record has two visible outputs
    replay                    the log says the same as the shard that wrote it
    loads, logs-open          whatever a crash leaves can be loaded

and when the storm is over:

    all-or-nothing            a transaction is visible in all partitions and offsets, or in none
    no-hanging                every transaction has ended, everything is stable
    chain                     the output is exactly the input up to the committed offsets
    readers-agree             a reader that begins anew sees the same
    progress                  all input is transformed in the end
    everybody-works           each partition has an owner, and each member has something to do
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.broker.groups.groups import GroupHost
from headrace.coordinator.host import Host, HostState
from headrace.log import PartitionLog
from headrace.testing.simulated_network import SimulatedCall
from headrace.types import TopicPartition
from tests.simulation.applications import INPUT, OUTPUT
from tests.simulation.broker import SimulatedBroker
from tests.simulation.catalogue import Catalogue
from tests.simulation.failure import check
from tests.simulation.members import Member
from tests.simulation.offsets_ledger import OffsetsLedger
from tests.simulation.ownership import Ownership
from tests.simulation.replayed import Shadow, compare, everything
from tests.simulation.transactions_ledger import TransactionsLedger


class Witness:
    """All that was promised to anybody, and the checks of it."""

    def __init__(
        self,
        catalogue: Catalogue,
        chain_group: str,
        new_shards: dict[str, Callable[[], Any]],
    ) -> None:
        self.transactions = TransactionsLedger()
        self.offsets = OffsetsLedger(catalogue, chain_group)
        self.ownership = Ownership()
        self.written: dict[TopicPartition, list[bytes]] = {}
        self._new_shards = new_shards
        self._broker: SimulatedBroker | None = None
        self._shadows: dict[TopicPartition, tuple[Any, Shadow[Any]]] = {}
        self._unsafe: dict[TopicPartition, set[str]] = {}

    # What goes over the wire.

    def on_arrival(self, call: SimulatedCall) -> None:
        self.offsets.on_arrival(call)
        self.ownership.on_arrival(call)

    def on_answer(self, call: SimulatedCall, response: Any) -> None:
        self.offsets.on_answer(call, response)
        self.transactions.on_answer(call, response)
        self.ownership.on_answer(call, response)

    def on_topic_deleted(self, name: str) -> None:
        self.offsets.on_topic_deleted(name)
        self.transactions.forget(name)

    # After every event.

    def look(self, broker: SimulatedBroker, members: Iterable[Member]) -> None:
        is_new_life = broker is not self._broker
        self._broker = broker
        for where, partition in broker.storage.partitions.items():
            if not where.topic.startswith("__"):
                self.transactions.follow(where, partition.log)
                if is_new_life:
                    self.transactions.check_read_again(where, partition.log)
        for host in broker.transactions.hosts.values():
            if host.state is HostState.ACTIVE:
                self._compare_with_log(host)
        living = [member for member in members if member.owned]
        for index, group_host in broker.groups.hosts.items():
            if group_host.state is not HostState.ACTIVE:
                continue
            names, is_new = self._compare_with_log(group_host)
            shard = group_host.shard
            if is_new:
                self.ownership.look_after_load(index, shard)
                self.offsets.look_after_load(shard, names)
            else:
                self._look_at_offsets(group_host, names)
            self.ownership.look(index, shard, living)

    def _look_at_offsets(self, host: GroupHost, names: set[str]) -> None:
        """Look now, and once more when what is new has been committed."""
        where, log = host.partition.topic_partition, host.partition.log
        names |= self._unsafe.pop(where, set())
        if names:
            is_safe = log.high_watermark >= log.log_end_offset
            self.offsets.look(host.shard, names, for_good=is_safe)
            if not is_safe:
                self._unsafe[where] = names

    def _compare_with_log(self, host: Host[Any, Any, Any]) -> tuple[set[str], bool]:
        """Which names the log has news of, and whether the shard was just loaded."""
        where = host.partition.topic_partition
        known = self._shadows.get(where)
        is_new = known is None or known[0] is not host.shard
        if known is None or is_new:
            shadow = Shadow(host, self._new_shards[where.topic]())
            self._shadows[where] = (host.shard, shadow)
        else:
            shadow = known[1]
        names = shadow.follow()
        if is_new:
            names = everything(host.shard) | everything(shadow.shard)
        if names:
            compare(host.shard, shadow.shard, names, str(where))
        return names, is_new

    # When the storm is over.

    def check_end(self, broker: SimulatedBroker, unanswered: Iterable[SimulatedCall]) -> None:
        left = [f"{call.name} of {call.client_id}" for call in unanswered]
        check(not left, "answered-once", f"never answered: {left}")
        for host in broker.transactions.active():
            for known in host.shard.transactions.values():
                check(known.is_idle, "no-hanging", f"{known} has not ended")
        for group_host in broker.groups.active():
            offsets = group_host.shard.offsets
            self.offsets.look(group_host.shard, everything(group_host.shard), for_good=True)
            for name in offsets.group_ids():
                is_open = offsets.has_open_transaction(name)
                check(not is_open, "no-hanging", f"{name} has pending offsets")
        for where, partition in broker.storage.partitions.items():
            self._check_log(where, partition.log)
        for attempt in self.transactions.attempts.values():
            if self.transactions.check_complete(attempt):
                self.offsets.check_promised(attempt)
        self._check_chain()

    def _check_log(self, where: TopicPartition, log: PartitionLog) -> None:
        stable, end = log.last_stable_offset, log.log_end_offset
        check(stable == end, "no-hanging", f"{where} ends at {end}, but is stable up to {stable}")
        if not where.topic.startswith("__"):
            self.transactions.check_read_again(where, log)
        if where.topic == INPUT:
            found = [record.value for record in self.transactions.visible.get(where, [])]
            wanted = self.written.get(where, [])
            check(found == wanted, "exactly-once", f"{where} has {found}, fed was {wanted}")

    def _check_chain(self) -> None:
        expected = {
            b"%s@%d" % (str(where).encode(), offset)
            for where, end in self.offsets.chain.items()
            for offset in range(end)
        }
        found = set(self.transactions.sources)
        check(
            found == expected,
            "chain",
            f"{OUTPUT} has {sorted(found - expected)} too much and lacks "
            f"{sorted(expected - found)}, committed is {self.offsets.chain}",
        )

    def is_complete(self) -> bool:
        """Whether all input is transformed, for good."""
        return all(
            self.offsets.chain.get(where, 0) >= len(values)
            for where, values in self.written.items()
        )
