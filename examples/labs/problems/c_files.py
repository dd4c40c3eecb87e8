"""Problem C: which files does a partition of four segments have?"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Final

from examples.cluster.lab import say, shell
from examples.labs.staging import await_so, expect, on_broker
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

TOPIC: Final = "problem-c"
# The first segment is only there to be deleted, so that the log begins at offset 3.
SEGMENTS: Final = (range(3), range(3, 9), range(9, 28), range(28, 32), range(32, 36))
HOUR_MS: Final = 3_600_000
KINDS: Final = ("index", "log", "timeindex")
ANSWER: Final = sorted(
    [f"{segment[0]:020d}.{kind}" for segment in SEGMENTS[1:] for kind in KINDS]
    + ["leader-epoch-checkpoint"]
)


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    say("Problem C: a log with four segments that begin at 3, 9, 28 and 32")
    config = {"segment.ms": str(HOUR_MS // 2), "file.delete.delay.ms": "0"}
    create_topic(servers, TOPIC, config=config)
    write_segments(servers, TOPIC, SEGMENTS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "delete.json"
        wanted = {"partitions": [{"topic": TOPIC, "partition": 0, "offset": 3}], "version": 1}
        path.write_text(json.dumps(wanted))
        where = ("--bootstrap-server", servers)
        shell("kafka-delete-records", *where, "--offset-json-file", str(path))
    partition = broker.data_dir / f"{TOPIC}-0"
    gone = partition / f"{0:020d}.log"
    await_so(lambda: not gone.exists(), "the segment before offset 3 is deleted")
    broker.restart()  # the indexes of the active segment are written when it is complete
    print("\n".join(_files(partition)))
    expect(_files(partition), ANSWER, "three of each segment, and one for the epochs of leaders")


def write_segments(servers: str, topic: str, segments: tuple[range, ...]) -> None:
    """A batch for each segment, an hour between them; the last is written now."""
    now_ms = int(time.time() * 1000)
    for number, segment in enumerate(segments):
        then_ms = now_ms - (len(segments) - 1 - number) * HOUR_MS
        drafts = [Draft(f"value {offset}", timestamp_ms=then_ms) for offset in segment]
        send(servers, topic, drafts, {"linger.ms": 100})


def _files(partition: Path) -> list[str]:
    """Without what other producers and our own broker keep beside them."""
    return sorted(
        path.name
        for path in partition.iterdir()
        if path.suffix in {".log", ".index", ".timeindex", ""}
    )


if __name__ == "__main__":
    on_broker(story)
