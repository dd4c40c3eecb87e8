"""`headrace produce`: lines of standard input or of files become records."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from headrace.cli.completion import complete_topic
from headrace.cli.draft_lines import Form, LineReader
from headrace.cli.failures import WrongUsage
from headrace.cli.kafka import (
    TIMEOUT_S,
    admin_api,
    explain,
    find_topic,
    open_admin,
    open_producer,
    raise_all,
    read_metadata,
    require_leaders,
    settle,
)
from headrace.cli.options import (
    DEFAULT_SERVERS,
    NONE_GIVEN,
    OutputOption,
    Properties,
    Servers,
    TopicOption,
    choose_topic,
    parse_pairs,
)
from headrace.cli.output import Output, emit
from headrace.cli.positions import parse_time
from headrace.cli.progress import Progress
from headrace.cli.record_json import Draft
from headrace.cli.record_text import Encoding, from_text, unescape
from headrace.cli.target import Target, parse_target

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

_FLUSH_S: Final = 60.0
_SHOWN_ERRORS: Final = 3
_EPILOG: Final = """\b
Examples:
  seq 10 | headrace produce numbers
  headrace produce orders orders.txt --key-separator : --null-marker NULL
  headrace consume a -o json | headrace produce b --format json"""


class Compression(StrEnum):
    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class Acks(StrEnum):
    NONE = "0"
    LEADER = "1"
    ALL = "all"


WordsArgument: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TOPIC [FILE…]",
        help="The topic, and files to read instead of standard input.",
        show_default=False,
        autocompletion=complete_topic,
    ),
]
FormOption: TypeAlias = Annotated[
    Form, typer.Option("--format", help="What a line is: a value, or a JSON object.")
]
KeyOption: TypeAlias = Annotated[
    str | None, typer.Option("--key", "-k", metavar="TEXT", help="The key of every record.")
]
SeparatorOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--key-separator", "-K", metavar="TEXT", help="Splits a line into key and value."),
]
HeaderOption: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--header", "-H", metavar="KEY=VALUE", help="May be repeated.", show_default=False
    ),
]
NullOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--null-marker", metavar="TEXT", help="This key or value is null (a tombstone)."),
]
PartitionOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--partition", "-p", metavar="N", min=0, help="Default: chosen by the key."),
]
TimestampOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--timestamp", metavar="TIME", help="@MILLISECONDS, @-15m or a date."),
]
KeyFormat: TypeAlias = Annotated[Encoding, typer.Option(help="What keys are written in.")]
ValueFormat: TypeAlias = Annotated[Encoding, typer.Option(help="What values are written in.")]
CompressionOption: TypeAlias = Annotated[
    Compression, typer.Option("--compression", "-z", help="The codec of the batches.")
]
AcksOption: TypeAlias = Annotated[Acks, typer.Option(help="Who must have a record to count it.")]
IdempotentFlag: TypeAlias = Annotated[
    bool, typer.Option("--idempotent", help="No duplicates and no gaps when sending is retried.")
]
CreateFlag: TypeAlias = Annotated[
    bool, typer.Option("--create-topic", help="Create the topic if it does not exist.")
]


def produce(
    words: WordsArgument = None,
    topic: TopicOption = None,
    form: FormOption = Form.LINE,
    key: KeyOption = None,
    key_separator: SeparatorOption = None,
    header: HeaderOption = NONE_GIVEN,
    null_marker: NullOption = None,
    partition: PartitionOption = None,
    timestamp: TimestampOption = None,
    key_format: KeyFormat = Encoding.TEXT,
    value_format: ValueFormat = Encoding.TEXT,
    compression: CompressionOption = Compression.NONE,
    acks: AcksOption = Acks.ALL,
    idempotent: IdempotentFlag = False,
    create_topic: CreateFlag = False,
    servers: Servers = DEFAULT_SERVERS,
    properties: Properties = NONE_GIVEN,
    output: OutputOption = Output.TABLE,
) -> int:
    """Write records, one per line, from standard input or files.

    A summary follows on stderr; with --output json or yaml it goes to standard output.
    """
    name, files = choose_topic(topic, words or [])
    if idempotent and acks is not Acks.ALL:
        raise WrongUsage("--idempotent needs --acks all", "leave --acks out")
    if key is not None and key_separator is not None:
        raise WrongUsage("--key and --key-separator exclude each other", "leave one of them out")
    if key_separator == "":
        raise WrongUsage("--key-separator is empty", "write for example --key-separator '\\t'")
    now_ms = time.time_ns() // 1_000_000
    defaults = Draft(
        key=None if key is None else from_text(key.encode(), key_format),
        value=None,
        headers=[(each, text.encode()) for each, text in parse_pairs(header, "--header").items()],
        partition=partition,
        timestamp_ms=None if timestamp is None else parse_time(timestamp, now_ms=now_ms),
    )
    separator = None if key_separator is None else unescape(key_separator)
    marker = None if null_marker is None else unescape(null_marker)
    reader = LineReader(form, key_format, value_format, defaults, separator, marker)
    target = parse_target(servers, properties)
    settings = {
        "compression.type": compression.value,
        "acks": acks.value,
        "enable.idempotence": idempotent,
        "linger.ms": 5,
    }
    producer = open_producer(target, settings)
    _require_topic(producer, target, name, create=create_topic)
    sending = _Sending(producer, target, name)
    with Progress(f"writing to {name}", total=None) as progress:
        sending.send_all(reader.read_files([Path(file) for file in files]), progress)
    return sending.report(output)


def _require_topic(producer: Producer, target: Target, name: str, *, create: bool) -> None:
    """Refuse a topic that is not there: a typo must not become a topic by accident."""
    metadata = read_metadata(producer, target)
    if create and name not in metadata.topics:
        admin = open_admin(target)
        futures = admin.create_topics(
            [admin_api().NewTopic(name, -1, -1)], request_timeout=TIMEOUT_S
        )
        raise_all(settle(futures, target, "topic")[1])
        metadata = read_metadata(admin, target)
    require_leaders(metadata, find_topic(metadata, name), target)


class _Sending:
    """One run of the producer: what arrived and what did not."""

    def __init__(self, producer: Producer, target: Target, topic: str) -> None:
        self._producer = producer
        self._target = target
        self._topic = topic
        self._began = time.monotonic()
        self._errors: dict[int, KafkaError] = {}
        self._written = 0
        self._failed = 0

    def send_all(self, drafts: Iterator[Draft], progress: Progress) -> None:
        """Send everything and wait for the answers; a bad line does not lose those before it."""
        try:
            for count, draft in enumerate(drafts, 1):
                self._send(draft)
                if not count & 1023:
                    self._producer.poll(0)
                    progress.update(self._written)
        finally:
            # On its own line: the callbacks that `flush` runs count failures themselves.
            unanswered = self._producer.flush(_FLUSH_S)
            self._failed += unanswered

    def _send(self, draft: Draft) -> None:
        from confluent_kafka import KafkaException

        options: dict[str, Any] = {"on_delivery": self._on_delivery}
        if draft.headers:
            options["headers"] = draft.headers
        if draft.partition is not None:
            options["partition"] = draft.partition
        if draft.timestamp_ms is not None:
            options["timestamp"] = draft.timestamp_ms
        while True:
            try:
                self._producer.produce(self._topic, draft.value, draft.key, **options)
                return
            except BufferError:
                # The queue is full: wait until some of it has been delivered.
                self._producer.poll(0.1)
            except KafkaException as error:
                self._count_failure(error.args[0])
                return

    def _on_delivery(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self._written += 1
        else:
            self._count_failure(error)

    def _count_failure(self, error: KafkaError) -> None:
        self._failed += 1
        self._errors.setdefault(error.code(), error)

    def report(self, output: Output) -> int:
        """Tell what happened; returns the exit code of the command."""
        seconds = time.monotonic() - self._began
        if output is Output.TABLE:
            rate = self._written / seconds if seconds else 0.0
            line = f"{self._written} records written to {self._topic} in {seconds:.2f} s"
            print(f"{line} ({rate:,.0f}/s), {self._failed} failed", file=sys.stderr)
        else:
            summary = {
                "topic": self._topic,
                "written": self._written,
                "failed": self._failed,
                "seconds": round(seconds, 3),
            }
            emit(summary, output, str)
        for error in list(self._errors.values())[:_SHOWN_ERRORS]:
            print(f"headrace: {explain(error, self._target)}", file=sys.stderr)
        return 1 if self._failed else 0


def register(app: typer.Typer) -> None:
    app.command(epilog=_EPILOG)(produce)
