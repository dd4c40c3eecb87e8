"""Driver positions: read by one consumer, by a group, and by several groups.

python -m examples.labs.driver_positions
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from examples.cluster.lab import say
from examples.labs.reading import Member, await_split, poll_until
from examples.labs.staging import check, expect, on_broker
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

TOPIC: Final = "driver-positions"
PARTITIONS: Final = 3
DRIVERS: Final = 8
POSITIONS: Final = 200


def positions(seed: int = 1) -> Iterator[Draft]:
    """Drivers who each move a little at a time; the driver is the key."""
    chance = Random(seed)
    at = {f"driver-{n}": [47.5, 7.6] for n in range(DRIVERS)}
    for number in range(POSITIONS):
        driver = f"driver-{number % DRIVERS}"
        at[driver] = [place + chance.uniform(-0.01, 0.01) for place in at[driver]]
        yield Draft(f"{number // DRIVERS},{at[driver][0]:.5f},{at[driver][1]:.5f}", driver)


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    create_topic(servers, TOPIC, partitions=PARTITIONS)
    send(servers, TOPIC, positions())
    say("One consumer: all partitions are its own")
    single = Member(servers, "single", TOPIC, "single")
    poll_until([single], lambda: len(single.records) >= POSITIONS, "all positions")
    expect(single.partitions, [0, 1, 2], "it has all three partitions")
    _check_order(single)
    single.leave()

    say("A group of three: each has a partition, and with it some of the drivers")
    group = [Member(servers, "fleet", TOPIC, f"fleet-{n}") for n in range(3)]
    await_split(group, PARTITIONS)
    poll_until(group, lambda: sum(len(m.records) for m in group) >= POSITIONS, "all positions")
    expect(sum(len(m.records) for m in group), POSITIONS, "together they have read each once")
    drivers = [{record.name for record in member.records} for member in group]
    for member, own in zip(group, drivers, strict=True):
        print(f"{member.name}: partition {member.partitions}, {sorted(own)}")
    check(sum(map(len, drivers)) == DRIVERS, "a driver has one reader")
    for member in group:
        _check_order(member)
        member.leave()

    say("Several groups: a map, a bill and an archive each read everything")
    readers = [Member(servers, name, TOPIC, name) for name in ("map", "bill", "archive")]
    poll_until(readers, lambda: all(len(r.records) >= POSITIONS for r in readers), "all positions")
    for reader in readers:
        expect(len(reader.records), POSITIONS, f"{reader.name} has read {POSITIONS} positions")
        reader.leave()


def _check_order(member: Member) -> None:
    by_driver: dict[str, list[int]] = {}
    for record in member.records:
        by_driver.setdefault(record.name, []).append(int(record.text.split(",")[0]))
    in_order = all(steps == sorted(steps) for steps in by_driver.values())
    check(in_order, f"{member.name} sees each driver move in order")


if __name__ == "__main__":
    on_broker(story)
