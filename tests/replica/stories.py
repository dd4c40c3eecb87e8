"""Stories of replicas: text that says what is done, and what comes of it.

A story is run line by line. Lines with `>` are done; everything else is written down as it
happens, and the whole must come out as it was written:

    > elect 1                     broker 1 leads with the next epoch, the living ISR stays
    > elect 3 unclean             broker 3 leads alone, whether it was in sync or not
    > produce m0 m1               each a batch of its own, acks=all; `acks=1` and `producer` may
                                  follow (idempotent, sequence by name)
    acked m0                      the producer was told so
    failed m1 NOT_LEADER_OR_...   or this
    > fetch 2                     one round trip of broker 2
    2 cut 3 to 2                  it had to truncate
    > isr                         the leader commits the in-sync replicas that it wants
    isr 1 2
    > kill 1, > crash 1           without and with the loss of what was not synced
    > lost 1                      the controller hears of it
    > start 1
    > +30000                      time passes
    > show                        every living replica; `|` stands at its high watermark
    1 leads e0 m0 | m1
    2       m0 m1 |
    > epochs 1                    its leader-epoch-checkpoint
    epochs (0,0) (1,2)
"""

from __future__ import annotations

import re
from difflib import ndiff

from headrace.errors import ClientFault
from headrace.log import LogConfig
from headrace.log.leader_epochs import LeaderEpochs
from headrace.replica.partition import Partition
from headrace.replica.waiters import CommitWaiter
from tests.replica.cluster import FOLDER, Cluster, batch


def check(story: str, *, brokers: int = 3, config: LogConfig | None = None) -> Cluster:
    """Run a story and compare."""
    stage = Stage(Cluster(*range(1, brokers + 1), config=config))
    told = [re.sub(r" {2,}#.*$", "", line.strip()) for line in story.splitlines() if line.strip()]
    for line in told:
        if line.startswith("> "):
            stage.perform(line)
    difference = "\n".join(ndiff(told, stage.transcript))
    assert stage.transcript == told, f"told (-) and happened (+):\n{difference}"
    return stage.cluster


class Stage:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.transcript: list[str] = []
        self._sequences: dict[str, int] = {}

    def perform(self, line: str) -> None:
        self.transcript.append(line)
        word, *rest = line[2:].split()
        if word.startswith("+"):
            self.cluster.now_ms += int(word)
        else:
            getattr(self, f"do_{word}")(*rest)

    # -- what can be done -------------------------------------------------------------------------

    def do_elect(self, broker: str, *how: str) -> None:
        self.cluster.elect(int(broker), [int(broker)] if "unclean" in how else None)

    def do_produce(self, *words: str) -> None:
        acks = 1 if "acks=1" in words else -1
        partition = self.cluster.leader.partition
        for value in words:
            if value in ("acks=1", "producer"):
                continue
            options = {}
            if "producer" in words:
                sequence = self._sequences.setdefault(value, len(self._sequences))
                options = {"producer_id": 5, "producer_epoch": 0, "base_sequence": sequence}
            try:
                appended = partition.append(
                    batch(value, **options), acks=acks, now_ms=self.cluster.now_ms
                )
            except ClientFault as fault:
                self.transcript.append(f"failed {value} {fault.error.name}")
                continue
            self._await(partition, value, appended.last_offset + 1, acks)

    def _await(self, partition: Partition, value: str, required: int, acks: int) -> None:
        def told() -> None:
            fault = partition.commit_fault(required, acks=acks)
            self.transcript.append(
                f"acked {value}" if not fault else f"failed {value} {fault.name}"
            )

        if partition.is_acknowledged(required, acks=acks):
            told()
        else:
            partition.await_commit(required, CommitWaiter(told), acks=acks)

    def do_fetch(self, *brokers: str) -> None:
        for broker in brokers:
            fetched = self.cluster.fetch(int(broker))
            if fetched is None:
                self.transcript.append(f"{broker} asks nothing")
                continue
            for cut in fetched.truncated.values():
                lost = " below its high watermark" if cut.lost_committed else ""
                self.transcript.append(f"{broker} cut {cut.from_offset} to {cut.to_offset}{lost}")
            for fault in fetched.errors.values():
                self.transcript.append(f"{broker} pauses {fault.error.name}")
            if fetched.error:
                self.transcript.append(f"{broker} refused {fetched.error.name}")

    def do_isr(self) -> None:
        self.cluster.settle_isr()
        self.transcript.append("isr " + " ".join(map(str, self.cluster.state.isr)))

    def do_kill(self, broker: str) -> None:
        self.cluster[int(broker)].kill()

    def do_crash(self, broker: str) -> None:
        self.cluster[int(broker)].crash()

    def do_lost(self, broker: str) -> None:
        self.cluster.lose(int(broker))

    def do_start(self, broker: str) -> None:
        self.cluster.start(int(broker))

    def do_flush(self, broker: str) -> None:
        self.cluster[int(broker)].flush()

    def do_checkpoint(self, broker: str) -> None:
        self.cluster[int(broker)].checkpoint()

    def do_deaf(self, broker: str) -> None:
        self.cluster[int(broker)].hears = False

    def do_hear(self, broker: str) -> None:
        replica = self.cluster[int(broker)]
        replica.hears = True
        self.cluster.apply(replica)

    def do_show(self) -> None:
        for replica in self.cluster.replicas.values():
            if not replica.is_alive:
                continue
            committed = replica.values(end=replica.partition.high_watermark)
            rest = replica.values(start=replica.partition.high_watermark)
            role = f"leads e{replica.partition.leader_epoch}" if replica.partition.is_leader else ""
            words = [str(replica.id), *role.split(), *committed, "|", *rest]
            self.transcript.append(" ".join(words))

    def do_epochs(self, broker: str) -> None:
        replica = self.cluster[int(broker)]
        entries = LeaderEpochs.load(replica.disk, FOLDER).entries
        told = " ".join(f"({entry.epoch},{entry.start_offset})" for entry in entries)
        self.transcript.append(f"epochs {told}")
