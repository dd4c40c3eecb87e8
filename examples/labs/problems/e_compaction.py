"""Problem E: what does compaction leave of a log, and does it happen at all?

Seven records are clean, four are dirty, four are in the active segment. By default nothing happens,
because less than half is dirty; with a lower ratio the older of two records of a key goes, and the
active segment stays as it is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from examples.cluster.lab import say, shell
from examples.labs.compacted import await_compacted, create_compacted, write_old
from examples.labs.reading import read_topic
from examples.labs.staging import await_so, check, expect, on_broker
from examples.topics import Draft, send
from headrace.testing import Broker

TOPIC: Final = "problem-e"
CLOCK: Final = "problem-e-clock"
HOUR_MS: Final = 3_600_000
FIRST: Final = {3: 2, 6: 1, 8: 12}
SECOND: Final = {9: 11, 17: 10, 26: 7, 27: 9}
DIRTY: Final = {28: 1, 29: 7, 30: 15, 31: 7}
ACTIVE: Final = {32: 15, 33: 7, 34: 12, 35: 6}
FORCED: Final = {3: 2, 8: 12, 9: 11, 17: 10, 27: 9, 28: 1, 30: 15, 31: 7} | ACTIVE
SIZES: Final = (10, 10, 15, 8)
_UNIT_BYTES: Final = 300


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    say("Problem E: a log whose first two segments are clean")
    create_compacted(servers, TOPIC, config={"segment.ms": str(HOUR_MS // 2)})
    clean = FIRST | SECOND
    # Offsets that are missing had records of a key that came again: compaction took them.
    _write(servers, _filled(0, FIRST), hours_ago=3, each=_share(0, FIRST))
    _write(servers, _filled(9, SECOND), hours_ago=2, each=_share(1, SECOND))
    await_so(lambda: _keys(servers) == clean, f"the clean part is {clean}")
    ratio = ("--alter", "--topic", TOPIC, "--add-config", "min.cleanable.dirty.ratio=0.5")
    shell("kafka-configs", "--bootstrap-server", servers, *ratio)
    _write(servers, DIRTY, hours_ago=1, each=_share(2, DIRTY))
    _write(servers, ACTIVE, hours_ago=0, each=_share(3, ACTIVE))

    say("15 of 35 are dirty, 0.43: less than the default of one half")
    await_round_of_cleaner(servers)
    expect(_keys(servers), clean | DIRTY | ACTIVE, "the cleaner came by and did nothing")

    say("With a lower ratio it is due")
    ratio = ("--alter", "--topic", TOPIC, "--add-config", "min.cleanable.dirty.ratio=0.4")
    shell("kafka-configs", "--bootstrap-server", servers, *ratio)
    await_so(lambda: len(_keys(servers)) == len(FORCED), "the cleaner has done its work")
    expect(_keys(servers), FORCED, f"left are {FORCED}")
    check(
        all(_keys(servers)[offset] == key for offset, key in ACTIVE.items()),
        "the active segment is untouched, although it has keys twice",
    )


def _filled(begin: int, survivors: Mapping[int, int]) -> dict[int, int]:
    """The records before compaction: a gap had the key of the next survivor."""
    filled = {}
    for offset in range(begin, max(survivors) + 1):
        following = min(each for each in survivors if each >= offset)
        filled[offset] = survivors[following]
    return filled


def _share(segment: int, records: Mapping[int, int]) -> int:
    """The bytes of each of these records, which have the size that the problem gives a segment."""
    return SIZES[segment] * _UNIT_BYTES // len(records)


def _write(servers: str, keys: Mapping[int, int], *, hours_ago: int, each: int) -> None:
    then_ms = int(time.time() * 1000) - hours_ago * HOUR_MS
    drafts = [Draft("v" * each, str(key), then_ms) for _, key in sorted(keys.items())]
    send(servers, TOPIC, drafts, {"linger.ms": 100})


def _keys(servers: str) -> dict[int, int]:
    return {record.offset: int(record.name) for record in read_topic(servers, TOPIC)}


def await_round_of_cleaner(servers: str) -> None:
    """Another topic is dirty as well: when it is clean, the cleaner has looked at all of them."""
    create_compacted(servers, CLOCK)
    write_old(servers, CLOCK, [("tick", str(number)) for number in range(10)])
    await_compacted(servers, CLOCK)


if __name__ == "__main__":
    on_broker(story)
