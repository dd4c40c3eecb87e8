"""`--reset-offsets` of consumer and of share groups: which partitions, and where to."""

from __future__ import annotations

import csv
import io
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from headrace.admin.client import Admin
from headrace.admin.faults import Refused
from headrace.admin.records import offsets_at
from headrace.admin.views import TopicView
from headrace.cli.durations import parse_duration_ms
from headrace.cli.kafka_compat.administering import Told, as_whole_number
from headrace.cli.kafka_compat.columns import AS_IT_IS, LEAST, column, lines_of, text_of
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.offset_plans import Borders, Kind, Step, build_plan, parse_csv
from headrace.cli.positions import parse_time
from headrace.cli.small_files import read_text
from headrace.client.offsets import EARLIEST, LATEST
from headrace.errors import Error
from headrace.types import Offset, TopicPartition

RESET_FLAGS: Final = flags(
    "--to-offset= --shift-by= --to-datetime= --by-duration= --to-earliest --to-latest "
    "--to-current --from-file="
)
Places = Collection[TopicPartition]


def named_places(admin: Admin, scope: Iterable[str]) -> list[TopicPartition]:
    """`orders`, `orders:0,2`; `Refused` for a topic that is not there."""
    places: list[TopicPartition] = []
    whole = []
    for text in scope:
        if ":" in text:
            places += parse_place(text)
        else:
            whole.append(text)
    topics = {topic.name: topic for topic in admin.topics()} if whole else {}
    for name in whole:
        if name not in topics:
            raise Refused(Error.UNKNOWN_TOPIC_OR_PARTITION, None)
        places += [TopicPartition(name, each.number) for each in topics[name].partitions]
    return places


def parse_place(text: str) -> list[TopicPartition]:
    """`orders:0,2` as two partitions."""
    parts = text.split(":")
    if len(parts) != 2:
        raise Told(f"Invalid topic arg '{text}', expected topic name and partitions")
    topic, numbers = parts
    for number in numbers.split(","):
        if not number.isdecimal():
            raise Told(f"Invalid partition '{number}' specified in topic arg '{text}''")
    return [TopicPartition(topic, int(number)) for number in numbers.split(",")]


def plan(
    admin: Admin,
    given: Given,
    group: str,
    places: Places,
    read_current: Callable[[], Mapping[TopicPartition, Offset]],
) -> list[Step]:
    """The new offset of each; what lies outside of the log is brought inside, and told."""
    kind = next((each for each in Kind if given.has(each.value)), None)
    if kind is None:
        listed = ", ".join(f"[{each[2:]}]" for each in RESET_FLAGS)
        raise Told(f"Option '[reset-offsets]' requires one of the following scenarios: {listed}")
    number, offsets = 0, {}
    if kind is Kind.FILE:
        offsets = parse_csv(read_text(given.needed("--from-file"), failure=Told), group)
        places = list(offsets)
    elif kind in (Kind.OFFSET, Kind.SHIFT):
        number = as_whole_number(given, kind.value) or 0
    elif kind is Kind.TIME:
        number = datetime_ms(given.needed("--to-datetime"))
    elif kind is Kind.DURATION:
        ago_ms = parse_duration_ms(given.needed("--by-duration"), "--by-duration")
        number = max(time.time_ns() // 1_000_000 - ago_ms, 0)
    _check_there(admin, places)
    current = read_current() if kind in (Kind.SHIFT, Kind.CURRENT) else {}
    if kind is Kind.SHIFT:
        for place in places:
            if place not in current:
                raise Told(
                    f"Cannot shift offset for partition {place} since there is no current "
                    "committed offset"
                )
    at_ms = number if kind in (Kind.TIME, Kind.DURATION) else None
    steps = build_plan(kind, number, _borders(admin, places, at_ms), current, offsets)
    _tell_moved(steps)
    return steps


def datetime_ms(text: str) -> int:
    """`2017-08-01T17:14:23.933`, of UTC unless it names a zone."""
    if "T" not in text:
        raise Told("Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
    return parse_time(text, now_ms=0)


def _check_there(admin: Admin, places: Places) -> None:
    topics: Mapping[str, TopicView] = {topic.name: topic for topic in admin.topics()}
    if not {place.topic for place in places} <= topics.keys():
        raise Refused(Error.UNKNOWN_TOPIC_OR_PARTITION, None)
    leaders = {
        TopicPartition(topic.name, each.number): each.leader
        for topic in topics.values()
        for each in topic.partitions
    }
    if absent := [place for place in places if place not in leaders]:
        listed = ",".join(map(str, absent))
        raise Refused(Error.UNKNOWN_TOPIC_OR_PARTITION, f'The partitions "{listed}" do not exist')
    if headless := [place for place in places if leaders[place] is None]:
        listed = ",".join(map(str, headless))
        raise Refused(Error.LEADER_NOT_AVAILABLE, f'The partitions "{listed}" have no leader')


def _borders(admin: Admin, places: Places, at_ms: int | None) -> dict[TopicPartition, Borders]:
    first, last = offsets_at(admin, places, EARLIEST), offsets_at(admin, places, LATEST)
    timed = {} if at_ms is None else offsets_at(admin, places, at_ms)
    borders = {}
    for place in places:
        found = timed[place].offset if place in timed else -1
        if place in timed and found < 0:
            print(
                f"\nWarn: Partition {place.partition} from topic {place.topic} is empty. Falling "
                "back to latest known offset."
            )
        at_time = found if found >= 0 else None
        borders[place] = Borders(first[place].offset, last[place].offset, at_time)
    return borders


def _tell_moved(steps: Iterable[Step]) -> None:
    for step in steps:
        if step.wanted_offset != step.new_offset:
            side = "higher than latest" if step.wanted_offset > step.new_offset else None
            print(
                f"WARN New offset ({step.wanted_offset}) is {side or 'lower than earliest'} offset "
                f"for topic partition {step.topic}-{step.partition}. Value will be set to "
                f"{step.new_offset}",
                file=sys.stderr,
            )


# -- printing -------------------------------------------------------------------------------------


def print_plans(plans: Mapping[str, Sequence[Step]]) -> None:
    """A table of all groups."""
    steps = [step for group in plans.values() for step in group]
    table = lines_of(
        column(
            "GROUP",
            [name for name, group in plans.items() for _ in group],
            least=max(LEAST, *map(len, plans), 0),
        ),
        column("TOPIC", [step.topic for step in steps]),
        column("PARTITION", [step.partition for step in steps], 10),
        column("NEW-OFFSET", [step.new_offset for step in steps], AS_IT_IS),
    )
    print(text_of(table) if plans else "\n", end="")


def print_csv(plans: Mapping[str, Sequence[Step]], *, with_group: bool) -> None:
    """Lines that `--from-file` takes; the group in front where there may be several."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for group, steps in plans.items():
        front = [group] if with_group else []
        writer.writerows([*front, *step[:2], step.new_offset] for step in steps)
    print(out.getvalue())
