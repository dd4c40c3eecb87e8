"""Which file of a data folder holds what, and the small ones among them.

Whatever a file holds becomes entries, and what cannot be believed becomes an entry with a `fault`,
so damage never hides what lies before it. The formats themselves are known to `headrace.records`
and `headrace.log`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from headrace.cli.dump_log.batches import dump_log_file
from headrace.cli.dump_log.indexes import dump_offset_index, dump_time_index
from headrace.cli.dump_log.mapped import Entry, Wanted, read_small
from headrace.errors import HeadraceError
from headrace.log import (
    checkpoints,
    leader_epochs,
    meta_properties,
    names,
    partition_metadata,
    snapshot,
    txn_index,
)
from headrace.types import uuid_to_text

_TRANSIENT: Final = (names.DELETED, names.CLEANED, names.SWAP)


def dump_file(path: Path, wanted: Wanted) -> Iterator[Entry]:
    """The entries of one file; its name says what it is."""
    reader = _reader(path.name)
    if reader is None:
        yield {"fault": "no file of a data folder has such a name"}
        return
    try:
        yield from reader(path, wanted)
    except HeadraceError as error:
        yield {"fault": str(error)}
    except OSError as error:
        yield {"fault": error.strerror or str(error)}


def is_known(name: str) -> bool:
    """Whether `dump_file` can read a file of this name."""
    return _reader(name) is not None


def _reader(name: str) -> Callable[[Path, Wanted], Iterator[Entry]] | None:
    if name in _BY_NAME:
        return _BY_NAME[name]
    for ending in _TRANSIENT:
        name = name.removesuffix(ending)
    parsed = names.parse(name)
    return _BY_SUFFIX.get(parsed[1]) if parsed is not None else None


def _dump_snapshot(path: Path, wanted: Wanted) -> Iterator[Entry]:
    for producer in snapshot.decode(read_small(path)):
        yield {"kind": "producer", **producer._asdict()}


def _dump_transactions(path: Path, wanted: Wanted) -> Iterator[Entry]:
    for transaction in txn_index.decode(read_small(path), str(path)):
        yield {"kind": "aborted", **transaction._asdict()}


def _dump_offsets(path: Path, wanted: Wanted) -> Iterator[Entry]:
    for where, offset in checkpoints.decode_offsets(read_small(path), str(path)).items():
        topic, partition = where
        yield {"kind": "checkpoint", "topic": topic, "partition": partition, "offset": offset}


def _dump_epochs(path: Path, wanted: Wanted) -> Iterator[Entry]:
    for epoch in leader_epochs.decode(read_small(path), str(path)):
        yield {"kind": "epoch", **epoch._asdict()}


def _dump_topic_id(path: Path, wanted: Wanted) -> Iterator[Entry]:
    topic_id = partition_metadata.decode(read_small(path), str(path))
    yield {"kind": "topic", "topic_id": uuid_to_text(topic_id)}


def _dump_owner(path: Path, wanted: Wanted) -> Iterator[Entry]:
    owner = meta_properties.decode(read_small(path), str(path))
    directory_id = None if owner.directory_id is None else uuid_to_text(owner.directory_id)
    yield {"kind": "owner", **owner._asdict(), "directory_id": directory_id}


_BY_SUFFIX: Final = {
    names.LOG: dump_log_file,
    names.OFFSET_INDEX: dump_offset_index,
    names.TIME_INDEX: dump_time_index,
    names.TXN_INDEX: _dump_transactions,
    snapshot.SUFFIX: _dump_snapshot,
}
_BY_NAME: Final = {
    checkpoints.RECOVERY_POINTS: _dump_offsets,
    checkpoints.HIGH_WATERMARKS: _dump_offsets,
    checkpoints.LOG_START_OFFSETS: _dump_offsets,
    leader_epochs.FILE_NAME: _dump_epochs,
    partition_metadata.FILE_NAME: _dump_topic_id,
    meta_properties.FILE_NAME: _dump_owner,
}
