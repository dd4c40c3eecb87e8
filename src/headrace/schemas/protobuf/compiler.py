"""The compiler's own process: `python -m headrace.schemas.protobuf.compiler FOLDER`.

It reads requests from stdin and writes answers to stdout until stdin ends. A request is the text of
a schema followed by the name and the text of each file that it may import. An answer is `OK` with
the descriptor set, the canonical and the normalized text, or `INVALID` with the reason, or
`MISSING` if protoc is not installed. Nothing that a request holds may end this process, and if it
does all the same, the asking side starts another.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
from pathlib import Path
from typing import Final

from headrace.schemas.model import InvalidSchema
from headrace.schemas.protobuf import frames

MAX_MEMORY_BYTES: Final = 1 << 30
MAX_FILE_BYTES: Final = 64 << 20
RETIREMENT_KB: Final = 128 << 10
"""Memory of a large schema is seldom given back; a process that has held so much makes room."""


def answer(request: list[bytes], folder: Path) -> list[bytes]:
    """Compile and print one schema."""
    try:
        from headrace.schemas.protobuf.sources import compile_source
    except ImportError as error:
        return [frames.MISSING, str(error).encode()]
    main, *rest = (part.decode() for part in request)
    try:
        compiled = compile_source(main, list(zip(rest[::2], rest[1::2], strict=True)), folder)
    except InvalidSchema as error:
        return [frames.INVALID, str(error).encode("utf-8", "replace")]
    except (MemoryError, RecursionError) as error:
        return [frames.INVALID, f"the schema is too large: {type(error).__name__}".encode()]
    except Exception as error:
        # A descriptor from outside can be wrong in ways that only the library under it finds.
        reason = "".join(
            each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in str(error)
        )
        return [frames.INVALID, f"the descriptor is not valid: {reason}".encode("utf-8", "replace")]
    return [
        frames.OK,
        compiled.descriptor_set,
        compiled.text.encode(),
        compiled.normalized.encode(),
    ]


def main(folder: Path) -> None:
    """Serve until stdin ends."""
    # Ctrl-C reaches every process of a terminal; this one leaves when its parent does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    # Errors go to a file, and a small source can have billions of them.
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, MAX_FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Whatever a library prints must not get between the answers.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        while (request := frames.read(requests)) is not None:
            answers.write(frames.pack(answer(request, folder)))
            answers.flush()
            if _peak_memory_kb() > RETIREMENT_KB:
                break
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _peak_memory_kb() -> int:
    """The most memory that this program has held; getrusage would count the parent's, too."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
