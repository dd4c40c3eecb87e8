"""Whether the log says the same as the shard that wrote it.

A second shard reads what the first one has appended, from the bytes on disk, after every event; at
a crash the whole log is loaded into a new one. What handlers keep beside the replayed state (parked
requests, members that are joining) is not compared: clients repeat that.
"""

from __future__ import annotations

from typing import Any, Generic

from headrace.coordinator.effects import ProducerIdentity
from headrace.coordinator.group.classic import ClassicGroup, ClassicState
from headrace.coordinator.group.consumer import ConsumerGroup
from headrace.coordinator.group.shard import GroupShard
from headrace.coordinator.host import Host, S
from headrace.coordinator.transaction.shard import TransactionShard
from headrace.records.batch import split_batches
from headrace.records.control import parse_control
from headrace.records.record import iterate
from tests.simulation.failure import fail


class Shadow(Generic[S]):
    """A shard that only reads."""

    def __init__(self, host: Host[S, Any, Any], empty: S) -> None:
        self.shard = empty
        self._host = host
        self._position = host.partition.log.log_start_offset

    def follow(self) -> set[str]:
        """Replay what is new in the log; returns the groups or transactional ids concerned."""
        log = self._host.partition.log
        concerned: set[str] = set()
        while self._position < log.log_end_offset:
            data = memoryview(log.read(self._position, 1 << 20, up_to=log.log_end_offset).data())
            for header, batch in split_batches(data, allow_partial_tail=True):
                if header.next_offset <= self._position:
                    continue
                producer = ProducerIdentity(header.producer_id, header.producer_epoch)
                for record in iterate(header, batch):
                    concerned |= self._replay(header, record, producer)
                self._position = header.next_offset
        return concerned

    def _replay(self, header: Any, record: Any, producer: ProducerIdentity) -> set[str]:
        if header.is_control:
            marker = parse_control(record)
            if marker is not None:
                self.shard.replay_end_transaction(producer, marker.commit)
            return set(getattr(self.shard, "groups", ()))
        decoded = self._host.topic.decode(record.key, record.value)
        assert decoded is not None, "every record of an internal topic is known"
        within = producer if header.is_transactional else None
        self.shard.replay(decoded, offset=record.offset, transaction=within)
        key = decoded.key
        for name in ("group", "group_id", "transactional_id"):
            if hasattr(key, name):
                return {getattr(key, name)}
        return set()


def compare(live: Any, read: Any, names: set[str], where: str) -> None:
    """Fail if these groups or transactional ids are not the same in both shards."""
    if isinstance(live, TransactionShard):
        for name in names:
            one, other = live.transactions.get(name), read.transactions.get(name)
            if one != other:
                fail("replay", f"{where}: {name} is {one}, the log says {other}")
        return
    for name in names:
        compare_group(live, read, name, where)


def everything(shard: Any) -> set[str]:
    """All names that a shard knows."""
    if isinstance(shard, TransactionShard):
        return set(shard.transactions)
    return set(shard.groups) | set(shard.offsets.group_ids())


def compare_group(live: GroupShard, read: GroupShard, name: str, where: str) -> None:
    one, other = live.offsets.of_group(name), read.offsets.of_group(name)
    if one != other:
        fail("replay", f"{where}: offsets of {name} are {one}, the log says {other}")
    if live.offsets.has_open_transaction(name) != read.offsets.has_open_transaction(name):
        fail("replay", f"{where}: the log says otherwise about pending offsets of {name}")
    group, loaded = live.groups.get(name), read.groups.get(name)
    if type(group) is not type(loaded):
        fail("replay", f"{where}: {name} is {group}, the log has {loaded}")
    if isinstance(group, ClassicGroup):
        if group.state in (ClassicState.STABLE, ClassicState.EMPTY):
            _compare_parts(_parts_of_classic(group), _parts_of_classic(loaded), name, where)
    elif isinstance(group, ConsumerGroup):
        _compare_parts(_parts_of_consumer(group), _parts_of_consumer(loaded), name, where)


def _compare_parts(one: dict[str, Any], other: dict[str, Any], name: str, where: str) -> None:
    for part, value in one.items():
        if value != other[part]:
            text = f"{part} of {name} is {value}, the log says {other[part]}"
            fail("replay", f"{where}: {text}")


def _parts_of_classic(group: Any) -> dict[str, Any]:
    return {
        "state": group.state,
        "generation": group.generation_id,
        "protocol": group.protocol_name,
        "leader": group.leader_id,
        "static members": group.static_members,
        "members": {
            member.member_id: (member.group_instance_id, member.assignment)
            for member in group.members.values()
        },
    }


def _parts_of_consumer(group: Any) -> dict[str, Any]:
    return {
        "state": group.state,
        "epoch": group.group_epoch,
        "assignment epoch": group.assignment_epoch,
        "hash": group.metadata_hash,
        "targets": group.targets,
        "members": group.members,
        "static members": group.static_members,
        "regular expressions": group.regexes,
    }
