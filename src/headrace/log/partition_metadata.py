"""`partition.metadata`: the id of the topic that a partition's folder belongs to.

A topic that is deleted and created again has the same name but another id. The file keeps a broker
that slept meanwhile from mistaking the old topic's records for the new one's.

    version: 0
    topic_id: <22 characters of URL-safe base64>

As Kafka writes it, without a newline at the end.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from headrace.errors import CorruptData
from headrace.runtime.disk import Disk, read_all
from headrace.types import ZERO_UUID, uuid_from_text, uuid_to_text

FILE_NAME: Final = "partition.metadata"


def encode(topic_id: UUID) -> bytes:
    return f"version: 0\ntopic_id: {uuid_to_text(topic_id)}".encode()


def decode(data: bytes, path: str) -> UUID:
    lines = data.decode("ascii", "replace").rstrip("\n").split("\n")
    if lines[0] != "version: 0":
        raise CorruptData(f"{path} line 1: {lines[0]!r}, expected 'version: 0'")
    if len(lines) != 2 or not lines[1].startswith("topic_id: "):
        raise CorruptData(f"{path} line 2: expected 'topic_id: ' and an id, and nothing after it")
    try:
        topic_id = uuid_from_text(lines[1].removeprefix("topic_id: "))
    except ValueError as fault:
        raise CorruptData(f"{path} line 2: {fault}") from None
    if topic_id == ZERO_UUID:
        raise CorruptData(f"{path} line 2: the id of no topic")
    return topic_id


def read(disk: Disk, folder: str) -> UUID | None:
    """The topic's id, or None in a folder from before topics had one (KIP-516).

    A power cut soon after the folder was made may leave the file empty, which is as good as none:
    whoever knows the topic writes it again.
    """
    path = f"{folder}/{FILE_NAME}"
    try:
        data = read_all(disk, path)
    except FileNotFoundError:
        return None
    return decode(data, path) if data else None


def write(disk: Disk, folder: str, topic_id: UUID, *, sync: bool = False) -> None:
    """In a new folder it need not be synced: the log's first flush does that, and before it there
    is nothing to lose.
    """
    file = disk.open(f"{folder}/{FILE_NAME}", create=True)
    if file.size():
        file.truncate(0)
    file.append([encode(topic_id)])
    if sync:
        file.sync()
        disk.sync_folder(folder)
    file.close()
