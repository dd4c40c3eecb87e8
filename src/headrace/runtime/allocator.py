"""Keep large freed blocks instead of giving them back to the kernel at once.

A broker allocates a block for every large frame and frees it microseconds later. By default glibc
maps such a block anew each time, and the kernel clears every page of it again; on the produce path
that is a tenth of the processor time. Where there is no glibc, nothing happens.
"""

from __future__ import annotations

from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3


def keep_large_blocks(up_to_bytes: int) -> None:
    """Serve blocks of up to this size from the heap, and keep as much of it when they are freed."""
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, up_to_bytes)
        mallopt(_M_TRIM_THRESHOLD, up_to_bytes)
