"""kill -9 in the middle of writing: nothing is lost, nothing is there twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from headrace.pipelines.lake.files import FileTarget
from headrace.pipelines.lake.filesystems import filesystem
from headrace.pipelines.lake.formats.avro import AvroFormat
from tests.generated import examples
from tests.kafka.toolchain import spawn, stop
from tests.pipelines.lake.rows import all_held, offsets
from tests.pipelines.lake.writing import PLACE


class Writers:
    """Writers that are started one after the other, and killed."""

    def __init__(self, url: str, log: Path) -> None:
        self._log = log
        command = [sys.executable, "-m", "tests.pipelines.lake.writing", url]
        with log.open("wb") as err:
            self._process = spawn(command, stdin=subprocess.PIPE, stderr=err)

    def run(self, seed: int, batches: int, seconds: float) -> int:
        """Kill a writer a moment after so many batches; up to where it said that all is safe."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"%d\n" % seed)
        self._process.stdin.flush()
        child = int(self._said()[1])
        safe = [int(self._said()[1]) for _ in range(batches)]
        time.sleep(seconds)  # anywhere in the work that follows
        os.kill(child, signal.SIGKILL)
        while self._said() != [b"gone"]:
            pass  # what it said meanwhile
        return safe[-1]

    def _said(self) -> list[bytes]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._log.read_text()
        return line.split()

    def stop(self) -> None:
        stop(self._process)


def test_killed_at_random_points(tmp_path: Path) -> None:
    chance = random.Random(18)
    lake = tmp_path / "lake"
    target = FileTarget(filesystem(str(lake)), AvroFormat())
    writers = Writers(str(lake), tmp_path / "log")
    position = 0
    try:
        for seed in range(examples(8)):
            promised = writers.run(seed, chance.randrange(1, 8), chance.random() * 0.05)
            position = target.positions([PLACE]).get(PLACE, 0)
            assert position >= promised
            assert offsets(all_held(lake)) == dict.fromkeys(range(position), 1)
    finally:
        writers.stop()
    assert position > 40
