"""Which log directory gets a new partition: the one that is online and has the fewest.

Kafka counts partitions, not bytes: a new partition is empty, and how it will grow is not known.
Directories that are cordoned (KIP-1066) get none, as long as there are others: a broker whose
directories are all cordoned gets no partitions, unless its controller could not know it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from headrace.errors import ClientFault, Error
from headrace.log.directory import LogDirectory

_NONE: Final[Mapping[str, int]] = {}


def choose_directory(
    directories: Iterable[LogDirectory],
    cordoned: Collection[str] = (),
    coming: Mapping[str, int] = _NONE,
) -> LogDirectory:
    """The emptiest directory that is online; of equals the one that `log.dirs` lists first.

    `coming` says how many logs are about to be in a directory and count as if they were.
    """
    online = [directory for directory in directories if directory.online]
    if not online:
        raise ClientFault(Error.KAFKA_STORAGE_ERROR, "every directory of log.dirs is offline")
    open_ones = [directory for directory in online if directory.path not in cordoned]
    return min(
        open_ones or online,
        key=lambda directory: len(directory.logs) + coming.get(directory.path, 0),
    )
