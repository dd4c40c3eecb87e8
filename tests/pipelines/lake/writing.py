"""Processes that write numbered rows to a lake until they are killed: `python -m … url`.

For each seed on standard input a child is forked. It says its process id, then after each batch up
to where all is published; its parent says when it is gone. A child goes on where the lake says that
it stands, as a task does that starts again. Batches differ in size from child to child, folders are
three, rotation is by rows and by bytes.
"""

from __future__ import annotations

import os
import random
import sys

from headrace.pipelines.lake.files import FileTarget
from headrace.pipelines.lake.filesystems import filesystem
from headrace.pipelines.lake.formats.avro import AvroFormat
from headrace.pipelines.lake.partitioners import FieldPartitioner
from headrace.pipelines.lake.rotation import Rotation
from headrace.pipelines.lake.writer import LakeWriter
from headrace.runtime.clock import SystemClock
from tests.pipelines.lake.rows import numbers

PLACE = ("t", 0)


def main(url: str) -> None:
    numbers(0, 1)  # what Arrow imports late is imported once
    for seed in sys.stdin:
        child = os.fork()
        if child == 0:
            write(url, random.Random(int(seed)))
        os.waitpid(child, 0)
        say("gone")


def write(url: str, chance: random.Random) -> None:
    """Write for ever."""
    say(f"begun {os.getpid()}")
    target = FileTarget(filesystem(url), AvroFormat(), most_open=2)
    rotation = Rotation(rows=70, size=chance.choice((None, 1800)))
    lake = LakeWriter(target, FieldPartitioner(["colour"]), rotation, SystemClock())
    at = lake.begin([PLACE]).get(PLACE, 0)
    while True:
        count = chance.randrange(1, 60)
        lake.write(numbers(at, count))
        at += count
        say(f"safe {lake.safe(PLACE)}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
