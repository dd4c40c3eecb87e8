"""From the query of a request to what a session reads.

`from` is `earliest`, `latest` (the default), a time (`2026-01-31T12:00:00Z` or milliseconds with an
`@` in front) or positions (`0:15,1:7`). A position list is also what events carry as their id, so
`Last-Event-ID` goes on behind the last event that a client has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from headrace.admin.client import Admin
from headrace.client.cluster import Cluster
from headrace.client.offsets import EARLIEST, LATEST, list_offsets
from headrace.rest.call import Call
from headrace.rest.live.session import Subscription
from headrace.rest.live.showing import formats_of
from headrace.rest.names import MAX_GROUP_LENGTH, is_group_name
from headrace.rest.v3 import faults
from headrace.rest.v3.resources import enter
from headrace.types import TopicPartition

ISOLATION_LEVELS: Final = ("read_committed", "read_uncommitted")
MAX_POSITIONS_LENGTH: Final = 32 << 10


async def read_subscription(call: Call) -> Subscription:
    """What this request subscribes to; topic and partitions must exist."""
    calls, _ = await enter(call)
    query = call.request.query_params
    topic, group = call.path("topic_name"), query.get("group")
    at, given = _start(query.get("from", "latest"))
    seen = positions(call.headers.get("last-event-id", ""))
    starts = {**given, **{partition: offset + 1 for partition, offset in seen.items()}}
    level = isolation_level(query.get("isolation_level"))
    chosen = query.get("partitions")
    reset = "latest" if at == LATEST else "earliest"
    if group is not None:
        _check_group(group, is_positioned=bool(given) or at not in (EARLIEST, LATEST))
        if chosen is not None:
            raise faults.bad_request("a group shares its partitions out: leave partitions away")

    def locate(admin: Admin) -> dict[int, int]:
        described = admin.topic(topic)
        if group is not None:
            return starts
        known = [each.number for each in described.partitions]
        wanted = _partitions(chosen, known)
        # Fixed now: what is written from here on is new, however long the consumer takes to begin.
        missing = [each for each in wanted if each not in starts]
        committed = level == ISOLATION_LEVELS[0]
        found = _offsets(admin.cluster, topic, missing, at, read_committed=committed)
        return {each: starts[each] if each in starts else found[each] for each in wanted}

    formats = formats_of(query)
    return Subscription(topic, group, reset, await calls.ask(locate), formats, level)


def _check_group(group: str, *, is_positioned: bool) -> None:
    if not is_group_name(group):
        raise faults.bad_request(
            f"group must have 1 to {MAX_GROUP_LENGTH} printable characters, without blanks around"
        )
    if is_positioned:
        raise faults.bad_request(
            "a group has its own positions: with it, from is earliest or latest"
        )


def _offsets(
    cluster: Cluster, topic: str, partitions: Sequence[int], at: int, *, read_committed: bool
) -> dict[int, int]:
    """The offset of a time in each partition; the end where nothing is that young."""

    def look_up(numbers: Sequence[int], time: int) -> dict[int, int]:
        wanted = {TopicPartition(topic, number): time for number in numbers}
        found = list_offsets(cluster, wanted, read_committed=read_committed) if wanted else {}
        return {place.partition: each.offset for place, each in found.items()}

    found = look_up(partitions, at)
    return found | look_up([number for number in found if found[number] < 0], LATEST)


def _start(text: str) -> tuple[int, Mapping[int, int]]:
    """A time (both ends of the log are times too) and positions that are given outright."""
    if text in ("earliest", "latest"):
        return (EARLIEST if text == "earliest" else LATEST), {}
    if text.startswith("@") or "T" in text:
        return time_ms("from", text.removeprefix("@")), {}
    found = positions(text)
    if not found:
        raise faults.bad_request(
            f"from={text!r}: allowed are earliest, latest, a time such as 2026-01-31T12:00:00Z, "
            "@ and milliseconds, or positions such as 0:15,1:7"
        )
    return EARLIEST, found


def time_ms(name: str, text: str) -> int:
    """Milliseconds since 1970, from themselves or from a date with a time."""
    if text.isascii() and text.isdecimal() and len(text) <= 15:
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        found = int(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise faults.bad_request(
            f"{name}={text!r} is not a time: give milliseconds or 2026-01-31T12:00:00Z"
        ) from None
    if found < 0:
        raise faults.bad_request(f"{name}={text!r} is before 1970")
    return found


def positions(text: str) -> dict[int, int]:
    """Offsets by partition, as in 0:15,1:7; nothing for nothing."""
    found: dict[int, int] = {}
    if len(text) > MAX_POSITIONS_LENGTH:
        raise faults.bad_request(f"more than {MAX_POSITIONS_LENGTH} characters of positions")
    for part in text.split(",") if text else ():
        partition, _, offset = part.strip().partition(":")
        if not _is_number(partition, 10) or not _is_number(offset, 19):
            raise faults.bad_request(f"{part!r} is not a position: give partition:offset")
        found[int(partition)] = int(offset)
    return found


def positions_text(offsets: Mapping[int, int]) -> str:
    return ",".join(f"{partition}:{offset}" for partition, offset in sorted(offsets.items()))


def _is_number(text: str, max_digits: int) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= max_digits


def _partitions(text: str | None, known: list[int]) -> tuple[int, ...]:
    if text is None:
        return tuple(known)
    chosen = []
    for part in text.split(","):
        if not _is_number(part.strip(), 10) or int(part) not in known:
            raise faults.not_found(f"Partition {part} cannot be found: there are {len(known)}.")
        chosen.append(int(part))
    return tuple(sorted(set(chosen)))


def isolation_level(text: str | None) -> str:
    level = text or ISOLATION_LEVELS[0]
    if level not in ISOLATION_LEVELS:
        raise faults.bad_request(
            f"isolation_level={text!r}: allowed are {' and '.join(ISOLATION_LEVELS)}"
        )
    return level
