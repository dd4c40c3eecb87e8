"""What a library can only write to a file, as pieces in memory, never more of it than fits a pipe.

The codecs of the native library decompress into a buffer that must hold everything, or into a file.
A pipe is such a file: a thread writes, the caller reads, and the kernel makes the writer wait. The
library works without the interpreter's lock, so the thread takes no time from others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from fcntl import F_SETPIPE_SZ, fcntl
from threading import Thread
from typing import Final

_PIPE_BYTES: Final = 256 * 1024


def windows(fill: Callable[[str], object], window_bytes: int) -> Iterator[bytes]:
    """What `fill` writes to the path it is given, in pieces of at most `window_bytes`.

    An error of `fill` is raised after the last piece. Closing the generator ends the writer.
    """
    reading, writing = os.pipe()
    faults: list[Exception] = []

    def write() -> None:
        try:
            fill(f"/dev/fd/{writing}")
        except Exception as fault:
            # Its traceback would keep the file open that `fill` made, and the pipe would not end.
            faults.append(fault.with_traceback(None))
        finally:
            os.close(writing)

    writer = Thread(target=write, name="headrace-pipe", daemon=True)
    try:
        with suppress(OSError):  # The system allows each user so much; a smaller pipe works too.
            fcntl(writing, F_SETPIPE_SZ, _PIPE_BYTES)
        writer.start()
    except BaseException:
        os.close(reading)
        os.close(writing)
        raise
    try:
        while window := os.read(reading, window_bytes):
            yield window
    finally:
        os.close(reading)
        writer.join()
    if faults:
        raise faults[0]
