"""kcat, the command-line client of operators: one process per record written, one per reading.

Debian's kcat is unpacked into the cache where none is installed; that takes no root.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.clients.records import CODECS, Headers, Record, Stored
from tests.kafka.toolchain import fetched, need, run

# Lengths first, as keys and values hold every byte; the headers end at the unit separator.
FORMAT = r"%o %T %K %S\n%k%s%h\x1f\n"
HEAD = re.compile(rb"(\d+) (-?\d+) (-?\d+) (-?\d+)\n")
KEY_END, VALUE_END = "<end of key>", "<end of value>"
TIMEOUT_SECONDS = 30


class Kcat:
    """A writer over the kcat program. It cannot set timestamps: the time of writing counts."""

    codecs = frozenset(CODECS)
    # kcat takes keys and headers as words of its command line: none can hold a zero byte, and a
    # header must have a name.
    refuses = frozenset({"every byte", "empty headers"})

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._program, self._env = _kcat()

    def produce(
        self,
        topic: str,
        partition: int,
        records: Sequence[Record],
        *,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
    ) -> list[int]:
        settings = ["-z", codec, "-X", f"acks={acks}", "-X", f"enable.idempotence={idempotent}"]
        for record in records:
            words = ["-P", "-t", topic, "-p", str(partition), *settings]
            for name, content in record.headers:
                words += ["-H", name if content is None else f"{name}={content.decode()}"]
            key, value = record.key or b"", record.value or b""
            if value and record.key is not None:
                words += ["-k", key.decode()]
            # kcat skips an empty message, but not one that is a key and nothing more. Such a one
            # has an empty value, or with -Z none.
            line = value if value else key + KEY_END.encode()
            words += [] if value else ["-K", KEY_END]
            words += ["-Z"] if record.value is None else []
            self.run(*words, "-D", VALUE_END, stdin=line + VALUE_END.encode())
        return []

    def read(self, topic: str, partition: int, offset: int, count: int) -> list[Stored]:
        where = ["-C", "-t", topic, "-p", str(partition), "-o", str(offset), "-c", str(count)]
        return parse(self.run(*where, "-e", "-q", "-f", FORMAT))

    def run(self, *words: str, stdin: bytes = b"") -> bytes:
        """Run kcat with these words; what it printed."""
        command = [self._program, "-b", self._bootstrap, *words]
        return run(command, env=self._env, stdin=stdin, timeout_seconds=TIMEOUT_SECONDS)


def parse(printed: bytes) -> list[Stored]:
    """Records out of what kcat printed by FORMAT."""
    found = []
    position = 0
    while head := HEAD.match(printed, position):
        offset, timestamp_ms, key_length, value_length = (int(number) for number in head.groups())
        key_end = head.end() + max(0, key_length)
        value_end = key_end + max(0, value_length)
        headers_end = printed.index(b"\x1f\n", value_end)
        key = None if key_length < 0 else printed[head.end() : key_end]
        value = None if value_length < 0 else printed[key_end:value_end]
        headers = _headers(printed[value_end:headers_end])
        found.append(Stored(offset, Record(key, value, timestamp_ms, headers)))
        position = headers_end + 2
    assert position == len(printed), f"kcat printed {printed[position:][:100]!r}"
    return found


def _headers(printed: bytes) -> Headers:
    pairs = (pair.split(b"=", 1) for pair in printed.split(b",") if pair)
    return tuple((name.decode(), None if value == b"NULL" else value) for name, value in pairs)


def _kcat() -> tuple[str, dict[str, str]]:
    """The program, and the environment in which it finds its libraries."""
    installed = shutil.which("kcat")
    if installed is not None:
        return installed, {}

    def fill(folder: Path) -> None:
        apt_get, dpkg = need("apt-get"), need("dpkg")
        download = [apt_get, "download", "kcat", "librdkafka1", "libyajl2"]
        try:
            run(download, cwd=folder)
        except AssertionError:  # a new machine has no list of packages yet
            run([apt_get, "update"])
            run(download, cwd=folder)
        for package in sorted(folder.glob("*.deb")):
            run([dpkg, "-x", package, folder])

    folder = fetched("kcat", fill)
    libraries = os.pathsep.join(str(path.parent) for path in folder.rglob("librdkafka.so.1"))
    return str(folder / "usr" / "bin" / "kcat"), {"LD_LIBRARY_PATH": libraries}
