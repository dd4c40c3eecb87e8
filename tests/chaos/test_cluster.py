"""Chaos on three brokers of real processes, in short; `make chaos` goes on for an hour.

`HEADRACE_SEED` repeats the nemesis' choices.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.chaos.cluster import report
from tests.chaos.cluster.availability import Gap, Strike, gaps, longest, unavailability
from tests.chaos.cluster.run import Plan, run
from tests.chaos.history.operation import Kind, Operation, Outcome, Record

SCRIPT = ("kill-leader", "pause-leader", "cut-leader")
SESSION_TIMEOUT_MS = 2000
LEAST_COMMITTED = 500
# Noticed within the session, elected and found by the clients within seconds.
LONGEST_FAILOVER_MS = SESSION_TIMEOUT_MS + 8000


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.spec("slides:B08", "slides:B10", "slides:B13", "slides:B16")
def test_nothing_is_lost_when_leaders_die_freeze_and_are_cut_off(tmp_path: Path) -> None:
    """Acknowledged records survive, once each and in order; clients go on by themselves."""
    seed = int(os.environ.get("HEADRACE_SEED", random.randrange(1 << 32)))
    plan = Plan(
        0,
        seed,
        script=SCRIPT,
        java=False,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        rest_seconds=(0.5, 1.0),
        calm_seconds=15,
        drain_seconds=60,
    )
    verdict = run(tmp_path, plan)
    said = f"HEADRACE_SEED={seed}, journals in {tmp_path}\n{report.text(verdict)}\n"
    assert [strike.fault for strike in verdict.strikes] == list(SCRIPT), said
    assert verdict.committed >= LEAST_COMMITTED, said
    assert verdict.good, said + verdict.last_words
    killed = report.longest_by_client(verdict, 0)
    assert killed["librdkafka"] <= LONGEST_FAILOVER_MS, said


def sent(process: str, key: str, at_ms: int, outcome: Outcome = Outcome.OK) -> Operation:
    record = Record(key, at_ms, f"{process}.{at_ms}")
    return Operation(process, Kind.SEND, outcome, at_ms - 1, at_ms, sent=(record,))


def test_a_fault_is_charged_with_the_gaps_that_it_touches() -> None:
    """The longest time between two acknowledgements of a partition, by client; failures count
    as nothing.
    """
    history = [
        *(sent("prober-0.1", "probe/0", at) for at in (0, 100, 4000, 4100, 20_000)),
        *(sent("prober-0.1", "probe/1", at) for at in (0, 100, 200, 300, 20_000)),
        sent("prober-0.1", "probe/0", 2000, Outcome.INFO),
        sent("javaprobe-0.1", "probe/0", 100),
        sent("javaprobe-0.1", "probe/0", 150),
        sent("feeder-0.1", "probe/0", 3000),
    ]
    history.sort(key=lambda operation: operation.ended_ms)
    found = gaps(history, {"prober": "librdkafka", "javaprobe": "java"})
    assert found["librdkafka"]["probe/0"][:2] == [Gap(0, 100), Gap(100, 4000)]
    strike = Strike("kill-leader", "broker 1", 1000, 1100)
    assert unavailability(found, [strike], 0) == {
        "librdkafka": {"probe/0": 15_900, "probe/1": 19_700},
        "java": {"probe/0": 0},
    }
    following = Strike("pause-leader", "broker 1", 4100, 5000)
    charged = unavailability(found, [strike, following], 0)
    assert charged["librdkafka"] == {"probe/0": 3900, "probe/1": 19_700}
    assert longest(found["librdkafka"]["probe/0"], 1000, 2000) == 3900
