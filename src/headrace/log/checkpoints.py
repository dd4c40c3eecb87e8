"""Checkpoint files: small text files that map partitions to offsets, one set per log directory.

    recovery-point-offset-checkpoint   up to here the log is flushed; recovery starts here
    replication-offset-checkpoint      the high watermark that was last known
    log-start-offset-checkpoint        where a log begins, if deletion moved it inside a segment
    cleaner-offset-checkpoint          up to here a log was compacted; beyond it, it is dirty

They are hints that save work at a start: the truth is in the logs. So they are written seldom and
replaced as a whole, and a damaged one is reported rather than believed. The shape is also that of
`leader-epoch-checkpoint`, hence the two functions for lines.

    LINE   CONTENT
    1      0                            the version
    2      n                            how many lines follow
    3..    <topic> <partition> <offset>

A file of zero bytes has no entries: Kafka creates checkpoints that way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from headrace.errors import CorruptData
from headrace.runtime.disk import Disk, read_all, write_atomically
from headrace.types import TopicPartition

RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
LOG_START_OFFSETS: Final = "log-start-offset-checkpoint"
CLEAN_OFFSETS: Final = "cleaner-offset-checkpoint"
OFFSET_FILES: Final = (RECOVERY_POINTS, HIGH_WATERMARKS, LOG_START_OFFSETS, CLEAN_OFFSETS)
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"

_VERSION: Final = "0"
_CLEAN_SHUTDOWN_CONTENT: Final = b'{"version":0,"brokerEpoch":-1}'


def encode_lines(lines: Iterable[str]) -> bytes:
    body = list(lines)
    return "\n".join([_VERSION, str(len(body)), *body, ""]).encode()


def decode_lines(data: bytes, path: str) -> list[str]:
    """The entries' lines, after version and count were checked. Entry i stands in line i + 3."""
    try:
        text = data.decode()
    except UnicodeDecodeError as fault:
        raise CorruptData(f"{path}: not text: {fault}") from None
    if not text:
        return []
    if not text.endswith("\n"):
        # A number that a crash has cut short is a number too.
        raise CorruptData(f"{path}: the last line has no end")
    lines = text.removesuffix("\n").split("\n")
    if lines[0] != _VERSION:
        raise CorruptData(f"{path} line 1: version {lines[0]!r}, only {_VERSION} is known")
    if len(lines) < 2 or parse_number(lines[1]) is None:
        raise CorruptData(f"{path} line 2: no count of entries")
    entries = lines[2:]
    if parse_number(lines[1]) != len(entries):
        raise CorruptData(f"{path} line 2: {lines[1]} entries announced, {len(entries)} found")
    return entries


def parse_number(text: str) -> int | None:
    """A decimal number of at most 19 digits that is not negative; None for anything else."""
    return int(text) if len(text) <= 19 and text.isascii() and text.isdigit() else None


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    return encode_lines(f"{tp.topic} {tp.partition} {offset}" for tp, offset in offsets.items())


def decode_offsets(data: bytes, path: str) -> dict[TopicPartition, int]:
    offsets = {}
    for index, line in enumerate(decode_lines(data, path)):
        fields = line.split()
        if len(fields) == 3:
            partition, offset = parse_number(fields[1]), parse_number(fields[2])
            if partition is not None and offset is not None:
                offsets[TopicPartition(fields[0], partition)] = offset
                continue
        raise CorruptData(f"{path} line {index + 3}: {line!r} is not 'topic partition offset'")
    return offsets


def read_offsets(disk: Disk, path: str) -> dict[TopicPartition, int]:
    """What the file says; nothing if it does not exist, as in a new directory."""
    try:
        data = read_all(disk, path)
    except FileNotFoundError:
        return {}
    return decode_offsets(data, path)


def write_offsets(disk: Disk, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    write_atomically(disk, path, encode_offsets(offsets))


def write_clean_shutdown(disk: Disk, folder: str) -> None:
    """Leave the marker that lets the next start trust the logs as they are.

    Kafka 4 stores the epoch of the broker's registration in it; a broker without one stores -1.
    """
    write_atomically(disk, f"{folder}/{CLEAN_SHUTDOWN}", _CLEAN_SHUTDOWN_CONTENT)


def take_clean_shutdown(disk: Disk, folder: str) -> bool:
    """Whether the last broker closed this folder in order. The marker counts once: it is removed.

    Its mere existence counts, as in Kafka, whatever version of Kafka has written it.
    """
    path = f"{folder}/{CLEAN_SHUTDOWN}"
    if not disk.exists(path):
        return False
    disk.remove(path)
    disk.sync_folder(folder)
    return True
