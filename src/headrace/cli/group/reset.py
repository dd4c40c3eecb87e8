"""`headrace group reset`: move a group that is at rest to other offsets.

Without --execute nothing is changed: the plan is printed, and a second look costs nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

from headrace.admin.client import Admin
from headrace.admin.groups import GroupView, find_group
from headrace.admin.records import led_offsets
from headrace.cli.asking import connect, explained, find_topic
from headrace.cli.durations import parse_duration_ms
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.group.legacy_offsets import read_legacy_offsets
from headrace.cli.group.offsets import read_committed
from headrace.cli.group.options import GroupName, Scope, ScopeOption, parse_scope
from headrace.cli.offset_plans import (
    LISTED,
    Borders,
    Kind,
    Step,
    build_plan,
    parse_csv,
    to_csv,
)
from headrace.cli.options import MADE, NONE_GIVEN, OutputOption, TargetOptions
from headrace.cli.output import Output, emit_rows
from headrace.cli.parameters import option
from headrace.cli.positions import parse_time
from headrace.cli.small_files import read_text
from headrace.client.group_offsets import commit_offsets
from headrace.client.offsets import EARLIEST, LATEST
from headrace.types import Offset, TopicPartition

MAX_FILE_BYTES: Final = 64 << 20
EPILOG: Final = """\b
Examples:
  headrace group reset billing --topic orders --to-earliest
  headrace group reset billing --topic orders:0,1 --shift-by -100 --execute
  headrace group reset billing --all-topics --to-datetime 2026-05-01T10:00:00Z --execute
  headrace group reset billing --all-topics --to-current --export > billing.csv
  headrace group reset billing --from-file billing.csv --execute"""

DatetimeOption: TypeAlias = Annotated[
    str | None, option("TIME", "To the first record at or after this time; UTC without a zone.")
]
DurationOption: TypeAlias = Annotated[
    str | None, option("DURATION", "To the first record of this long ago: PT1H30M or 90m.")
]
ShiftOption: TypeAlias = Annotated[
    int | None, option("N", "Shift by this number of records; negative is backwards.")
]
CurrentFlag: TypeAlias = Annotated[
    bool, option("--to-current", "To the committed offset, or to the end where there is none.")
]
FileOption: TypeAlias = Annotated[str | None, option("CSV", "Lines of TOPIC,PARTITION,OFFSET.")]
ZooKeeperOption: TypeAlias = Annotated[
    str | None,
    option("HOST:PORT", "Use the offsets that a legacy consumer stored in this ZooKeeper."),
]


class Wish(NamedTuple):
    """Where to go; `number` is an offset, a distance or epoch milliseconds."""

    kind: Kind
    number: int = 0


def reset(
    group: GroupName,
    topic: ScopeOption = NONE_GIVEN,
    all_topics: Annotated[
        bool, option("--all-topics", "All topics with committed offsets of the group.")
    ] = False,
    to_earliest: Annotated[bool, option("--to-earliest", "To the first record.")] = False,
    to_latest: Annotated[bool, option("--to-latest", "To the end of the log.")] = False,
    to_datetime: DatetimeOption = None,
    by_duration: DurationOption = None,
    shift_by: ShiftOption = None,
    to_offset: Annotated[int | None, option("N", "To this offset.", min=0)] = None,
    to_current: CurrentFlag = False,
    from_file: FileOption = None,
    from_zookeeper: ZooKeeperOption = None,
    execute: Annotated[
        bool, option("--execute", "Execute the plan; without it nothing is changed.")
    ] = False,
    export: Annotated[bool, option("--export", "Print the plan as CSV.")] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Reset the committed offsets of a group; a dry run unless --execute is given."""
    given: dict[Kind, Any] = {
        Kind.EARLIEST: to_earliest or None,
        Kind.LATEST: to_latest or None,
        Kind.TIME: to_datetime,
        Kind.DURATION: by_duration,
        Kind.SHIFT: shift_by,
        Kind.OFFSET: to_offset,
        Kind.CURRENT: to_current or None,
        Kind.FILE: from_file,
        Kind.ZOOKEEPER: from_zookeeper,
    }
    wish = choose_wish(given, now_ms=time.time_ns() // 1_000_000)
    listed = {} if from_file is None else parse_csv(_read(from_file), group)
    if execute and export:
        raise WrongUsage("--execute and --export exclude each other", "leave one of them out")
    if (bool(topic) + all_topics) != (wish.kind not in LISTED):
        raise WrongUsage(
            "no partitions are selected",
            "give --topic or --all-topics or, with --from-file or --from-zookeeper, neither",
        )
    if from_zookeeper is not None:
        listed = read_legacy_offsets(from_zookeeper, group)
    scope = parse_scope(topic)
    with connect(target) as admin, explained(f'group "{group}"'):
        found = find_group(admin, group)
        committed = read_committed(admin, group)
        parts = set(listed) or _choose_parts(admin, group, scope, committed)
        borders = _read_borders(admin, parts, wish)
        steps = build_plan(wish.kind, wish.number, borders, committed, listed)
        _say_what_was_clamped(steps)
        if execute:
            _require_rest(found)
            offsets = {TopicPartition(*step[:2]): (step.new_offset, "") for step in steps}
            commit_offsets(admin.cluster, group, offsets)
    if export:
        sys.stdout.write(to_csv(steps))
        return
    _tell(steps, output, executed=execute)
    if not execute:
        _say_what_keeps_it_a_plan(group, found)


def _read(path: str) -> str:
    return read_text(path, f"--from-file {path}", max_bytes=MAX_FILE_BYTES)


def choose_wish(given: Mapping[Kind, Any], *, now_ms: int) -> Wish:
    """The one destination that was asked for."""
    chosen = [kind for kind, value in given.items() if value is not None]
    if len(chosen) != 1:
        said = " and ".join(kind.value for kind in chosen) or "nothing"
        raise WrongUsage(
            f"there must be one target, {said} was given",
            "give exactly one of " + ", ".join(kind.value for kind in Kind),
        )
    kind = chosen[0]
    value = given[kind]
    if kind is Kind.TIME:
        try:
            return Wish(kind, parse_time(value, now_ms=now_ms))
        except WrongUsage:
            raise WrongUsage(
                f'--to-datetime "{value}" is not a time', "write for example 2026-05-01T10:00:00Z"
            ) from None
    if kind is Kind.DURATION:
        return Wish(kind, max(now_ms - parse_duration_ms(value, "--by-duration"), 0))
    return Wish(kind, value if kind in (Kind.SHIFT, Kind.OFFSET) else 0)


def _choose_parts(
    admin: Admin, group: str, scope: Scope, committed: Mapping[TopicPartition, Offset]
) -> set[TopicPartition]:
    """The partitions of the scope; with --all-topics, of all topics with committed offsets."""
    if not scope and not committed:
        raise Failure(f'group "{group}" has committed no offset yet', "name topics with --topic")
    topics = admin.topics()
    parts = set()
    for topic, numbers in (scope or dict.fromkeys({part.topic for part in committed})).items():
        present = {each.number for each in find_topic(topics, topic).partitions}
        for number in sorted(numbers or ()):
            if number not in present:
                raise Failure(
                    f'topic "{topic}" has no partition {number}', f"it has 0 to {len(present) - 1}"
                )
        parts |= {TopicPartition(topic, number) for number in numbers or present}
    return parts


def _read_borders(
    admin: Admin, parts: set[TopicPartition], wish: Wish
) -> dict[TopicPartition, Borders]:
    first, last = led_offsets(admin, parts, EARLIEST), led_offsets(admin, parts, LATEST)
    timed = {}
    if wish.kind in (Kind.TIME, Kind.DURATION):
        timed = led_offsets(admin, parts, wish.number)
    for part in sorted(parts):
        if part not in first or part not in last:
            raise Failure(
                f"{part.topic}:{part.partition} does not report its offsets",
                f'see "headrace topic describe {part.topic}", or leave it out',
            )
    return {
        part: Borders(first[part], last[part], timed[part] if timed.get(part, -1) >= 0 else None)
        for part in parts
    }


def _require_rest(group: GroupView | None) -> None:
    """A member would go on from where it is, and commit over what is set here."""
    if group is not None and (group.members or group.state != "Empty"):
        raise Failure(
            f'group "{group.group}" is {group.state} with {len(group.members)} members, so its '
            "offsets cannot be reset",
            f'stop its members first, see "headrace group describe {group.group} --members"',
        )


def _tell(steps: list[Step], output: Output, *, executed: bool) -> None:
    rows = [
        {
            "topic": step.topic,
            "partition": step.partition,
            "current_offset": step.current_offset,
            "new_offset": step.new_offset,
            "result": "reset" if executed else "planned",
        }
        for step in steps
    ]
    columns = ["topic", "partition", "current_offset", "new_offset", "result"]
    emit_rows(rows, output, columns)


def _say_what_was_clamped(steps: list[Step]) -> None:
    for notice in filter(None, (step.notice for step in steps)):
        print(f"headrace: {notice}", file=sys.stderr)


def _say_what_keeps_it_a_plan(name: str, group: GroupView | None) -> None:
    line = "this was a dry run and changed nothing; add --execute to do it"
    if group is None:
        line += f', which creates group "{name}"'
    elif group.members:
        line = (
            f'this was a dry run; group "{name}" is {group.state} with '
            f"{len(group.members)} members, stop them before --execute"
        )
    print(f"headrace: {line}", file=sys.stderr)
