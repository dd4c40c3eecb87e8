"""The distributed log, file by file.

    python -m examples.labs.explore_log

A partition is a folder; a segment of it is a log with two indexes, named after its first offset;
producers leave snapshots, aborted transactions an index of their own. Beside the folders lie the
checkpoints. Then a segment is dumped, record by record.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from examples.cluster.lab import PATIENCE_S, say, shell
from examples.labs.staging import check, expect, on_broker
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

TOPIC: Final = "my_topic"
SEGMENTS: Final = 3
PER_SEGMENT: Final = 100
_SEGMENT_FILE: Final = re.compile(r"\d{20}\.(log|index|timeindex|snapshot|txnindex)")


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    folder = broker.data_dir / f"{TOPIC}-0"
    say("One partition; a segment is complete after a minute of its records' own time")
    create_topic(servers, TOPIC, config={"segment.ms": "60000"})
    now_ms = int(time.time() * 1000)
    for segment in range(SEGMENTS):
        then_ms = now_ms - (SEGMENTS - 1 - segment) * 120_000
        drafts = [Draft(f"value {n}", f"key {n}", then_ms) for n in range(PER_SEGMENT)]
        send(servers, TOPIC, drafts, {"linger.ms": 100})

    say("A producer with sequence numbers, and a transaction that is aborted")
    _abort_a_transaction(servers)
    say("The broker is stopped in good order, so that everything is on the disk")
    broker.restart()
    _look_at_files(folder)
    _look_at_checkpoints(broker.data_dir)

    say("A segment, record by record")
    logs = sorted(folder.glob("*.log"))
    dumped = shell("kafka-dump-log", "--files", str(logs[0]), "--print-data-log")
    check("baseOffset: 0 " in dumped, "the first batch begins at offset 0")
    expect(
        len(re.findall(r"offset: \d+ .*payload: value \d+", dumped)),
        PER_SEGMENT,
        f"{PER_SEGMENT} records are in the first segment",
    )
    several = shell("kafka-dump-log", "--files", *map(str, logs))
    expect(several.count("Dumping "), len(logs), "and *.log, as a shell expands it, dumps them all")


def _look_at_files(folder: Path) -> None:
    print(f"$ ls {folder.name}")
    for path in sorted(folder.iterdir()):
        print(f"{path.stat().st_size:8} {path.name}")
    stems = [f"{n * PER_SEGMENT:020d}" for n in range(SEGMENTS)]
    expect(_names(folder, "log"), stems, "segments are named after their first offset, 20 digits")
    expect(_names(folder, "index"), stems, "each has an index from offsets to positions")
    expect(_names(folder, "timeindex"), stems, "and one from times to offsets")
    expect(_names(folder, "txnindex"), stems[-1:], "the aborted transaction is in a .txnindex")
    check(set(stems[1:]) <= set(_names(folder, "snapshot")), "segments have snapshots of producers")
    check((folder / "leader-epoch-checkpoint").exists(), "epochs of leaders are kept per partition")


def _look_at_checkpoints(data: Path) -> None:
    end = PER_SEGMENT * SEGMENTS + 2  # one record was aborted, and the marker says so
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        lines = (data / name).read_text().splitlines()
        check(f"{TOPIC} 0 {end}" in lines, f"{name} has the partition at offset {end}")


def _abort_a_transaction(servers: str) -> None:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "explorer"})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(TOPIC, "never to be seen")
    producer.flush(PATIENCE_S)
    producer.abort_transaction(PATIENCE_S)
    producer.close()


def _names(folder: Path, kind: str) -> list[str]:
    return sorted(path.stem for path in folder.glob(f"*.{kind}") if _is_of_segment(path))


def _is_of_segment(path: Path) -> bool:
    return _SEGMENT_FILE.fullmatch(path.name) is not None


if __name__ == "__main__":
    on_broker(story)
