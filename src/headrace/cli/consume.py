"""`headrace consume`: read topics and print their records.

Without --group, partitions are assigned, not subscribed: no group is joined and no offset is
committed, so reading a topic this way never disturbs a consumer group. With it, the command is a
member like any other (`group.reading`).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final, NamedTuple, TypeAlias

import typer

from headrace.cli import kafka, yaml
from headrace.cli.completion import complete_group, complete_topic
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.group.reading import Membership, Protocol, settings_of
from headrace.cli.lines import counted
from headrace.cli.options import MADE, TargetOptions, TopicOption, choose_topic
from headrace.cli.output import Output
from headrace.cli.parameters import argument, option
from headrace.cli.positions import parse_position
from headrace.cli.ranges import Range, resolve
from headrace.cli.record_json import to_json
from headrace.cli.record_text import (
    Faces,
    Record,
    compact_json,
    compile_format,
    iso_timestamp,
    unescape,
)
from headrace.cli.schema.registry import DEFAULT_URL, RegistryOption
from headrace.cli.schema_values import Format, SchemaValues
from headrace.cli.target import Target

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

_BATCH: Final = 1000
_POLL_S: Final = 0.2
_PARTITION_EOF: Final = -191  # librdkafka's code for "nothing more for now"
_TIMESTAMP_TYPES: Final = ("NotAvailable", "CreateTime", "LogAppendTime")
# Kafka's words for the borders of a log, and ours.
_BORDERS: Final = {"earliest": "beginning", "latest": "end"}
_RESETS: Final = {"beginning": "earliest", "end": "latest"}

Renderer: TypeAlias = Callable[[Record], bytes]

_EPILOG: Final = """\b
Examples:
  headrace consume orders --from -10
  headrace consume orders --from @-1h --format '%p:%o %k = %v\\n'
  headrace consume orders --follow --output json | jq .value
  headrace consume payments --value-format avro --registry http://127.0.0.1:8081
  headrace consume orders bills --group billing --follow"""

TopicsArgument: TypeAlias = Annotated[
    list[str] | None,
    argument("TOPIC…", "One topic; with --group, any number.", autocompletion=complete_topic),
]
GroupOption: TypeAlias = Annotated[
    str | None,
    option(
        "--group -g GROUP",
        "Join this consumer group and commit offsets.",
        autocompletion=complete_group,
    ),
]
ProtocolOption: TypeAlias = Annotated[
    Protocol | None, typer.Option(help="Group protocol; default classic.")
]
PartitionsOption: TypeAlias = Annotated[
    list[int] | None,
    option("--partition -p N", "Read only this partition; may be repeated.", min=0),
]
FromOption: TypeAlias = Annotated[
    str,
    option(
        "--from POSITION",
        "beginning, end, an offset, -N for the last N of each partition, @MILLISECONDS, "
        "@-15m, or a date such as 2026-05-01T10:00:00Z. With --group earliest or latest, for a "
        "group without offsets.",
    ),
]
ToOption: TypeAlias = Annotated[
    str, option("--to POSITION", "Stop before this position; end is the end of the log now.")
]
MaxOption: TypeAlias = Annotated[
    int | None, option("--max-messages -n N", "Stop after this number of records.", min=1)
]
FollowFlag: TypeAlias = Annotated[bool, option("--follow -f", "Wait for new records at the end.")]
TemplateOption: TypeAlias = Annotated[
    str,
    option(
        "--format TEXT",
        "%t topic, %p partition, %o offset, %k key, %v value, %h headers, %T milliseconds, "
        "%d date, %K %V sizes, %% percent; \\n \\t \\r \\0 \\xHH.",
    ),
]
KeyFormat: TypeAlias = Annotated[
    Format, typer.Option(help="How keys are printed; see --value-format.")
]
ValueFormat: TypeAlias = Annotated[
    Format,
    typer.Option(
        help="How values are printed. avro, protobuf, and json where the record names a schema, "
        "are decoded with the registry's schema; auto decodes any of them and prints others as "
        "text."
    ),
]
NullOption: TypeAlias = Annotated[str, option("--null-marker TEXT", "Text printed for null.")]
OutputOption: TypeAlias = Annotated[
    Output | None,
    option(
        "--output -o", "Print a table, or a JSON or YAML document per record, instead of --format."
    ),
]


class Wish(NamedTuple):
    """What to read and how to show it, once the command line is understood."""

    target: Target
    topics: list[str]
    start: str
    stop: str
    max_messages: int | None
    follow: bool
    render: Renderer

    @property
    def told(self) -> bool:
        """Whether what happens besides reading is worth a line on stderr."""
        return self.follow or sys.stderr.isatty()


def consume(
    words: TopicsArgument = None,
    topic: TopicOption = None,
    partition: PartitionsOption = None,
    group: GroupOption = None,
    protocol: ProtocolOption = None,
    start: FromOption = "beginning",
    stop: ToOption = "end",
    max_messages: MaxOption = None,
    follow: FollowFlag = False,
    template: TemplateOption = "%v\\n",
    key_format: KeyFormat = Format.TEXT,
    value_format: ValueFormat = Format.TEXT,
    null_marker: NullOption = "",
    target: TargetOptions = MADE,
    registry: RegistryOption = DEFAULT_URL,
    output: OutputOption = None,
) -> None:
    """Print the records of a topic from a position to its end, or without end with --follow."""
    name, rest = choose_topic(topic, words or [])
    if follow and stop != "end":
        raise WrongUsage("--follow and --to exclude each other", "leave one of them out")
    if protocol is not None and group is None:
        raise WrongUsage("--protocol needs --group", "name a group with --group")
    if partition is not None and group is not None:
        raise WrongUsage(
            "--partition and --group exclude each other", "a group assigns its partitions itself"
        )
    with SchemaValues(registry, target.registry_properties) as schemas:
        faces = Faces(
            schemas.face(key_format, is_key=True),
            schemas.face(value_format, is_key=False),
            unescape(null_marker),
        )
        wish = Wish(
            target=target,
            topics=list(dict.fromkeys([name, *rest])),
            start=_BORDERS.get(start, start),
            stop=_BORDERS.get(stop, stop),
            max_messages=max_messages,
            follow=follow,
            render=_renderer(output, template, faces),
        )
        head = _TABLE_HEAD if output is Output.TABLE else b""
        if group is None:
            _read_alone(wish, partition, head)
        else:
            _read_in_group(wish, group, protocol or Protocol.CLASSIC, head)


def _read_alone(wish: Wish, partitions: list[int] | None, head: bytes) -> None:
    name, *rest = wish.topics
    if rest:
        raise WrongUsage(
            f'two topics are named, "{name}" and "{rest[0]}"', "leave one out, or add --group"
        )
    now_ms = time.time_ns() // 1_000_000
    begin = parse_position(wish.start, now_ms=now_ms)
    end = parse_position(wish.stop, now_ms=now_ms)
    # A bounded reading should not wait half a second for records that nobody promised.
    consumer = kafka.open_consumer(wish.target, {} if wish.follow else {"fetch.wait.max.ms": 50})
    chosen = _choose_partitions(consumer, wish.target, name, partitions)
    ranges = resolve(consumer, wish.target, name, chosen, begin, end)
    out = sys.stdout.buffer
    out.write(head)
    reading = _Reading(consumer, wish.target, wish.render, out, wish.max_messages)
    try:
        reading.run(name, ranges, follow=wish.follow)
    except (KeyboardInterrupt, BrokenPipeError):
        pass  # Ctrl-C is the usual end of --follow, and `| head` has seen enough.
    finally:
        consumer.close()
        if wish.told:
            print(f"{counted(reading.count, 'record')} read from {name}", file=sys.stderr)
    out.flush()


def _read_in_group(wish: Wish, group: str, protocol: Protocol, head: bytes) -> None:
    if wish.start not in _RESETS:
        raise WrongUsage(
            f'--from "{wish.start}" cannot be used with --group, which has its own offsets',
            f'give earliest or latest for a new group, or move it with "headrace group reset '
            f'{group}"',
        )
    if wish.stop != "end":
        raise WrongUsage("--to and --group exclude each other", "leave one of them out")
    settings = settings_of(group, protocol, _RESETS[wish.start])
    consumer = kafka.open_consumer(wish.target, settings)
    metadata = kafka.read_metadata(consumer, wish.target)
    for found in kafka.find_topics(metadata, wish.topics):
        kafka.require_leaders(metadata, found, wish.target)
    out = sys.stdout.buffer
    out.write(head)
    membership = Membership(
        consumer,
        wish.target,
        group,
        lambda message: out.write(wish.render(record_of(message))),
        out.flush,
        told=wish.told,
    )
    try:
        membership.run(wish.topics, max_messages=wish.max_messages, follow=wish.follow)
    except (KeyboardInterrupt, BrokenPipeError):
        pass  # A second Ctrl-C, or `| head`; what was handed over until then is committed.
    finally:
        consumer.close()
        if wish.told:
            where = ", ".join(wish.topics)
            print(
                f'{counted(membership.count, "record")} read from {where} as "{group}"',
                file=sys.stderr,
            )
    out.flush()


def _choose_partitions(
    consumer: Consumer, target: Target, topic: str, wanted: list[int] | None
) -> list[int]:
    metadata = kafka.read_metadata(consumer, target)
    found = kafka.find_topic(metadata, topic)
    for number in wanted or ():
        if number not in found.partitions:
            raise Failure(
                f'topic "{topic}" has no partition {number}',
                f"it has 0 to {len(found.partitions) - 1}",
            )
    kafka.require_leaders(metadata, found, target)
    return sorted(set(wanted or found.partitions))


class _Reading:
    """One run over the assigned partitions."""

    def __init__(
        self,
        consumer: Consumer,
        target: Target,
        render: Renderer,
        out: BinaryIO,
        max_messages: int | None,
    ) -> None:
        self._consumer = consumer
        self._target = target
        self._render = render
        self._out = out
        self._max = max_messages
        self.count = 0

    def run(self, topic: str, ranges: list[Range], *, follow: bool) -> None:
        """Print until every range is done, the maximum is reached, or for ever with `follow`."""
        from confluent_kafka import TopicPartition

        stops = {each.partition: each.stop for each in ranges if follow or each.start < each.stop}
        if not stops:
            return
        self._consumer.assign(
            [
                TopicPartition(topic, each.partition, each.start)
                for each in ranges
                if each.partition in stops
            ]
        )
        while (follow or stops) and self.count != self._max:
            budget = _BATCH if self._max is None else min(self._max - self.count, _BATCH)
            for message in self._consumer.consume(budget, timeout=_POLL_S):
                self._take(message, stops, follow)
            if follow:
                self._out.flush()

    def _take(self, message: Message, stops: dict[int, int], follow: bool) -> None:
        error = message.error()
        if error is not None:
            if error.code() != _PARTITION_EOF:
                raise kafka.explain(error, self._target, f"partition {message.partition()}")
            if not follow:
                stops.pop(message.partition() or 0, None)
            return
        record = record_of(message)
        if not follow:
            stop = stops.get(record.partition, 0)
            if record.offset + 1 >= stop:
                stops.pop(record.partition, None)
            if record.offset >= stop:
                return
        self._out.write(self._render(record))
        self.count += 1


def record_of(message: Any) -> Record:
    """The library's message as plain data. Its getters are typed as if all could be missing."""
    kind, timestamp_ms = message.timestamp()
    return Record(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        timestamp_ms=timestamp_ms,
        timestamp_type=_TIMESTAMP_TYPES[kind],
        key=message.key(),
        value=message.value(),
        headers=message.headers() or (),
    )


def _renderer(output: Output | None, template: str, faces: Faces) -> Renderer:
    if output is Output.JSON:
        return lambda record: (compact_json(to_json(record, faces)) + "\n").encode()
    if output is Output.YAML:
        return lambda record: ("---\n" + yaml.dump(to_json(record, faces))).encode()
    if output is Output.TABLE:
        return lambda record: _table_line(record, faces)
    return compile_format(template, faces)


# Records stream, so the widths are chosen before the first one is known.
_TABLE_LINE: Final = "{:>9}  {:>10}  {:<24}  {:<16}  {}\n"
_TABLE_HEAD: Final = _TABLE_LINE.format("PARTITION", "OFFSET", "TIMESTAMP", "KEY", "VALUE").encode()


def _table_line(record: Record, faces: Faces) -> bytes:
    shown = to_json(record, faces)
    key, value = (
        "-" if text is None else text if isinstance(text, str) else json.dumps(text)
        for text in (shown["key"], shown["value"])
    )
    when = iso_timestamp(record.timestamp_ms)
    return _TABLE_LINE.format(record.partition, record.offset, when, key, value).encode()


def register(app: typer.Typer) -> None:
    app.command(epilog=_EPILOG)(consume)
