"""`headrace schema backup` and `restore`: the records of the registry's topic as lines of JSON.

    {"offset": 7, "timestamp": 1767225600000, "key": "{\"keytype\":…}", "value": "{…}" or null}

Keys and values stand in the file byte for byte, as text (`key_base64`, `value_base64` if they are
none): a topic is compacted by the bytes of its keys, so that a record restored with its members in
another order would be another record. A registry need not run; one that does sees what is restored.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from headrace.cli.failures import Failure
from headrace.cli.options import MADE, OutputOption, TargetOptions
from headrace.cli.output import Output, emit_rows
from headrace.cli.parameters import argument, option
from headrace.cli.target import Target

if TYPE_CHECKING:
    from headrace.client.cluster import Cluster
    from headrace.client.producing import RecordsPayload
    from headrace.records.record import Record

DEFAULT_TOPIC: Final = "_schemas"
MAX_LINE_BYTES: Final = 32 << 20
_BATCH_BYTES: Final = 512 << 10

StoreTopic: TypeAlias = Annotated[str, option("--topic TOPIC", "The topic of the registry.")]
BackupFile: TypeAlias = Annotated[
    str, argument("FILE", "The backup file; - is standard output or input.")
]


def backup(
    file: BackupFile,
    topic: StoreTopic = DEFAULT_TOPIC,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write every record of the registry's topic to a file, one line each."""
    with _open_cluster(target) as cluster, _writing(file) as lines:
        count = 0
        for count, record in enumerate(read_records(cluster, topic), 1):  # noqa: B007
            lines.write(as_line(record) + "\n")
    _report(file, {"topic": topic, "file": file, "records": count}, output)


def restore(
    file: BackupFile,
    topic: StoreTopic = DEFAULT_TOPIC,
    merge: Annotated[
        bool, option("--merge", "Restore even if the topic has schemas already.")
    ] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write the records of a backup to the registry's topic, which is created if necessary."""
    from headrace.client.producing import RawProducer
    from headrace.registry.settings import RegistrySettings
    from headrace.registry.topic import ensure_topic

    records = list(_read_backup(file))
    with _open_cluster(target) as cluster:
        store = RegistrySettings(kafka=cluster.settings, topic_replication_factor=-1)
        ensure_topic(cluster, store, topic)
        if not merge and any(not _is_noop(record.key) for record in read_records(cluster, topic)):
            raise Failure(
                f'the topic "{topic}" has schemas already, and ids of the backup may mean others',
                "restore into an empty topic, or add --merge",
            )
        producer = RawProducer(cluster)
        for payload in _payloads(records):
            producer.send(topic, 0, payload)
        producer.flush()
    _report("", {"topic": topic, "file": file, "records": len(records)}, output)


def _report(file: str, row: dict[str, object], output: Output) -> None:
    """Data on standard output is not mixed with the summary."""
    if file == "-":
        print(f"{row['records']} records of {row['topic']} written", file=sys.stderr)
    else:
        emit_rows([row], output, list(row))


@contextmanager
def _open_cluster(target: Target) -> Iterator[Cluster]:
    from headrace.client.cluster import Cluster
    from headrace.client.settings import client_settings

    given = {"bootstrap.servers": target.servers, "client.id": "headrace-cli"}
    settings, unknown = client_settings({**given, **target.properties})
    if unknown:
        raise Failure(f"-X {unknown[0]} is not known here", "correct the -X option")
    cluster = Cluster(settings)
    try:
        yield cluster
    finally:
        cluster.close()


def read_records(cluster: Cluster, topic: str) -> Iterator[Record]:
    """Every record from the first one to the end as it is now."""
    from headrace.client.fetching import PartitionFetcher
    from headrace.client.offsets import EARLIEST, LATEST, list_offsets
    from headrace.records.batch import check_batch, split_batches
    from headrace.records.record import iterate
    from headrace.types import TopicPartition

    partitions = cluster.topic(topic).partitions
    if len(partitions) != 1:
        raise Failure(
            f'topic "{topic}" has {len(partitions)} partitions, a registry\'s topic has one',
            "name the right one with --topic",
        )
    place = TopicPartition(topic, 0)
    offset = list_offsets(cluster, {place: EARLIEST}, read_committed=True)[place].offset
    end = list_offsets(cluster, {place: LATEST}, read_committed=True)[place].offset
    fetcher = PartitionFetcher(cluster, topic, 0, read_committed=True)
    while offset < end:
        fetched = fetcher.fetch(offset)
        before = offset
        for header, view in split_batches(fetched.records, allow_partial_tail=True):
            check_batch(view, header)
            if not header.is_control:
                yield from (each for each in iterate(header, view) if offset <= each.offset < end)
            offset = header.next_offset
        if offset == before:
            raise Failure(f'topic "{topic}" ends at offset {offset}, before {end}', "try again")


def as_line(record: Record) -> str:
    """One record as a line of a backup."""
    members: dict[str, object] = {"offset": record.offset, "timestamp": record.timestamp}
    for name, data in (("key", record.key), ("value", record.value)):
        try:
            members[name] = None if data is None else data.decode()
        except UnicodeDecodeError:
            assert data is not None
            members[f"{name}_base64"] = base64.b64encode(data).decode()
    return json.dumps(members, ensure_ascii=False)


def parse_line(line: bytes, number: int) -> Record:
    """The record in a line of a backup, or a failure that names the line."""
    from headrace.records.record import Record

    try:
        members = json.loads(line)
        record = Record(
            offset=number - 1,
            timestamp=int(members["timestamp"]),
            key=_bytes_of(members, "key"),
            value=_bytes_of(members, "value"),
        )
        if record.key is None or "keytype" not in json.loads(record.key):
            raise ValueError("its key is not that of a registry's record")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failure(
            f"line {number} is not a record of a backup ({error})",
            'give a file that "headrace schema backup" has written',
        ) from None
    return record


def _bytes_of(members: dict[str, Any], name: str) -> bytes | None:
    if f"{name}_base64" in members:
        return base64.b64decode(members[f"{name}_base64"], validate=True)
    text = members[name]
    return None if text is None else str(text).encode()


def _is_noop(key: bytes | None) -> bool:
    try:
        return key is not None and json.loads(key).get("keytype") == "NOOP"
    except (ValueError, AttributeError):
        return False


def _read_backup(file: str) -> Iterator[Record]:
    try:
        with sys.stdin.buffer if file == "-" else open(file, "rb") as lines:
            number = 0
            while line := lines.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise Failure(f"line {number} has more than {MAX_LINE_BYTES} bytes")
                if line.strip():
                    yield parse_line(line, number)
    except OSError as error:
        raise Failure(f"the backup {file} cannot be read ({error.strerror})") from None


@contextmanager
def _writing(file: str) -> Iterator[IO[str]]:
    """A file that appears when it is complete; a backup cut short must not look like one."""
    if file == "-":
        yield sys.stdout
        return
    partial = f"{file}.partial"
    try:
        with open(partial, "w", encoding="utf-8") as lines:
            yield lines
            lines.flush()
            os.fsync(lines.fileno())
        os.replace(partial, file)
    except OSError as error:
        raise Failure(f"the backup {file} cannot be written ({error.strerror})") from None
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def _payloads(records: Iterable[Record]) -> Iterator[RecordsPayload]:
    """The records in batches of a size that every broker takes, in their order."""
    batch: list[Record] = []
    size = 0
    for record in records:
        batch.append(record)
        size += len(record.key or b"") + len(record.value or b"")
        if size >= _BATCH_BYTES:
            yield _payload(batch)
            batch, size = [], 0
    if batch:
        yield _payload(batch)


def _payload(records: list[Record]) -> RecordsPayload:
    from headrace.client.producing import RecordsPayload
    from headrace.records.builder import encode_record
    from headrace.records.compression import Codec

    first = records[0].timestamp
    encoded = b"".join(
        encode_record(number, record.timestamp - first, record.key, record.value)
        for number, record in enumerate(records)
    )
    latest = max(record.timestamp for record in records)
    return RecordsPayload(encoded, Codec.NONE, len(records), first, latest)


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: headrace schema backup schemas.jsonl")(backup)
    app.command(epilog="Example: headrace schema restore schemas.jsonl -b other:9092")(restore)
