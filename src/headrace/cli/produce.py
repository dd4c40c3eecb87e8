"""`headrace produce`: lines of standard input or of files become records."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from headrace.cli import kafka
from headrace.cli.asking import connect, explained
from headrace.cli.completion import complete_topic
from headrace.cli.draft_lines import Form, LineReader
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.options import (
    MADE,
    NONE_GIVEN,
    OutputOption,
    TargetOptions,
    TopicOption,
    choose_topic,
    parse_pairs,
)
from headrace.cli.output import Output
from headrace.cli.parameters import argument, option
from headrace.cli.positions import parse_time
from headrace.cli.progress import Progress
from headrace.cli.record_json import Draft
from headrace.cli.record_text import unescape
from headrace.cli.schema.registry import DEFAULT_URL, RegistryOption
from headrace.cli.schema_values import Format, SchemaValues
from headrace.cli.sending import Sending, TransactionalSending
from headrace.cli.target import Target

if TYPE_CHECKING:
    from confluent_kafka import Producer

_EPILOG: Final = """\b
Examples:
  seq 10 | headrace produce numbers
  headrace produce orders orders.txt --key-separator : --null-marker NULL
  headrace consume a -o json | headrace produce b --format json
  headrace produce payments payments.json --value-format avro
  headrace produce orders orders.txt --transactional-id loader --transaction-size 1000"""


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
    argument(
        "TOPIC [FILE…]",
        "The topic, and files to read instead of standard input.",
        autocompletion=complete_topic,
    ),
]
FormOption: TypeAlias = Annotated[
    Form, option("--format", "Input format of a line: a value, or a JSON object.")
]
KeyOption: TypeAlias = Annotated[str | None, option("--key -k TEXT", "The key of every record.")]
SeparatorOption: TypeAlias = Annotated[
    str | None, option("--key-separator -K TEXT", "Text that separates key and value in a line.")
]
HeaderOption: TypeAlias = Annotated[
    list[str], option("--header -H KEY=VALUE", "A header of every record; may be repeated.")
]
NullOption: TypeAlias = Annotated[
    str | None,
    option("--null-marker TEXT", "Write this text as null; a null value is a tombstone."),
]
PartitionOption: TypeAlias = Annotated[
    int | None,
    option("--partition -p N", "The partition. Default: chosen by the hash of the key.", min=0),
]
TimestampOption: TypeAlias = Annotated[
    str | None,
    option("--timestamp TIME", "Timestamp of every record: @MILLISECONDS, @-15m or a date."),
]
KeyFormat: TypeAlias = Annotated[
    Format, typer.Option(help="Encoding of keys in the input; see --value-format.")
]
ValueFormat: TypeAlias = Annotated[
    Format,
    typer.Option(
        help="Encoding of values in the input. avro, protobuf and auto read JSON and encode it "
        "with the latest schema of the subject TOPIC-value, or with --value-schema-id."
    ),
]
KeySchemaId: TypeAlias = Annotated[
    int | None, option("--key-schema-id ID", "Encode keys with this schema of the registry.", min=1)
]
ValueSchemaId: TypeAlias = Annotated[
    int | None,
    option("--value-schema-id ID", "Encode values with this schema of the registry.", min=1),
]
CompressionOption: TypeAlias = Annotated[
    Compression, option("--compression -z", "Compression codec.")
]
AcksOption: TypeAlias = Annotated[
    Acks, typer.Option(help="Wait for no acknowledgement, the leader's, or all in-sync replicas'.")
]
IdempotentFlag: TypeAlias = Annotated[
    bool, option("--idempotent", "Use an idempotent producer: retries cause no duplicates.")
]
TransactionalIdOption: TypeAlias = Annotated[
    str | None,
    option("--transactional-id ID", "Write in a transaction with this transactional id."),
]
TransactionSizeOption: TypeAlias = Annotated[
    int | None,
    option("--transaction-size N", "Records in a transaction; default: all in one.", min=1),
]
CreateFlag: TypeAlias = Annotated[
    bool, option("--create-topic", "Create the topic if it does not exist.")
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
    key_format: KeyFormat = Format.TEXT,
    value_format: ValueFormat = Format.TEXT,
    key_schema_id: KeySchemaId = None,
    value_schema_id: ValueSchemaId = None,
    compression: CompressionOption = Compression.NONE,
    acks: AcksOption = Acks.ALL,
    idempotent: IdempotentFlag = False,
    transactional_id: TransactionalIdOption = None,
    transaction_size: TransactionSizeOption = None,
    create_topic: CreateFlag = False,
    target: TargetOptions = MADE,
    registry: RegistryOption = DEFAULT_URL,
    output: OutputOption = Output.TABLE,
) -> int:
    """Write records, one per line, from standard input or files.

    A summary follows on stderr; with --output json or yaml it goes to standard output.
    """
    name, files = choose_topic(topic, words or [])
    settings = _settings(acks, idempotent, transactional_id, transaction_size)
    if key is not None and key_separator is not None:
        raise WrongUsage("--key and --key-separator exclude each other", "leave one of them out")
    if key_separator == "":
        raise WrongUsage("--key-separator is empty", "write for example --key-separator '\\t'")
    with SchemaValues(registry, target.registry_properties) as schemas:
        key_pack = schemas.pack(key_format, name, is_key=True, schema_id=key_schema_id)
        value_pack = schemas.pack(value_format, name, is_key=False, schema_id=value_schema_id)
    now_ms = time.time_ns() // 1_000_000
    defaults = Draft(
        key=None if key is None else key_pack(key.encode()),
        value=None,
        headers=[(each, text.encode()) for each, text in parse_pairs(header, "--header").items()],
        partition=partition,
        timestamp_ms=None if timestamp is None else parse_time(timestamp, now_ms=now_ms),
    )
    separator = None if key_separator is None else unescape(key_separator)
    marker = None if null_marker is None else unescape(null_marker)
    reader = LineReader(form, key_pack, value_pack, defaults, separator, marker)
    producer = kafka.open_producer(target, settings | {"compression.type": compression.value})
    _require_topic(producer, target, name, create=create_topic)
    sending = Sending(producer, target, name)
    if transactional_id is not None:
        sending = TransactionalSending(
            producer, target, name, transactional_id=transactional_id, size=transaction_size
        )
    try:
        with Progress(f"writing to {name}", total=None) as progress:
            sending.send_all(reader.read_files([Path(file) for file in files]), progress)
    except (Failure, KeyboardInterrupt):
        # What was sent before a bad line or Ctrl-C stays; the report says how much to skip.
        sending.report(output)
        raise
    return sending.report(output)


def _settings(
    acks: Acks, idempotent: bool, transactional_id: str | None, transaction_size: int | None
) -> dict[str, Any]:
    """What acks and transactions ask of the client, or why they cannot be had together."""
    if transaction_size is not None and transactional_id is None:
        raise WrongUsage("--transaction-size needs --transactional-id", "name an id of your own")
    for flag, given in (("--idempotent", idempotent), ("--transactional-id", transactional_id)):
        if given and acks is not Acks.ALL:
            raise WrongUsage(f"{flag} needs --acks all", "leave --acks out")
    settings: dict[str, Any] = {"acks": acks.value, "linger.ms": 5}
    if transactional_id is not None:
        return settings | {"transactional.id": transactional_id}
    return settings | {"enable.idempotence": idempotent}


def _require_topic(producer: Producer, target: Target, name: str, *, create: bool) -> None:
    """Refuse a topic that is not there: a typo must not become a topic by accident."""
    metadata = kafka.read_metadata(producer, target)
    if create and name not in metadata.topics:
        with connect(target) as admin, explained(f'topic "{name}"'):
            admin.create(name)
        metadata = kafka.read_metadata(producer, target)
    kafka.require_leaders(metadata, kafka.find_topic(metadata, name), target)


def register(app: typer.Typer) -> None:
    app.command(epilog=_EPILOG)(produce)
