"""How many descriptors this process may have open, and how files and connections share them.

Files and connections together may want more than there are: a file's handle is closed when a
socket needs it (`os_disk`), so connections are limited only by what no file can give back.
"""

from __future__ import annotations

import resource
from typing import Final

# The tree, listeners, other brokers, pipes, metrics, folders that are being synced.
_RESERVE: Final = 128
_FEWEST_FILES: Final = 64
# More than these are left to sockets while files rest.
_FOR_SOCKETS: Final = 1024
# A connection whose client reads slowly is watched through a duplicate of its descriptor.
_PER_CONNECTION: Final = 2
_UNLIMITED: Final = 1 << 20


def raise_limit() -> int:
    """Take as many descriptors as the system allows (`ulimit -Hn`); returns how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return _UNLIMITED if hard == resource.RLIM_INFINITY else int(hard)


def files_within(limit: int) -> int:
    """How many files may be kept open at a time."""
    return max(_FEWEST_FILES, min(limit - _FOR_SOCKETS, limit // 2))


def connections_within(limit: int) -> int:
    """How many connections can be held with a reserve left for everything else."""
    reserve = min(_RESERVE, limit // 4)
    return max(1, (limit - reserve - _FEWEST_FILES) // _PER_CONNECTION)
