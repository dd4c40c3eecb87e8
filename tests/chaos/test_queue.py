"""A queue under kill -9: a short run of `python -m tests.chaos.queue`, and its judge.

`HEADRACE_SEED` repeats the choices.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.chaos.queue.journal import Entry, Journal, Word, read
from tests.chaos.queue.run import Plan, run
from tests.chaos.queue.verdict import ACCEPT, RELEASE, gather, judge


@pytest.mark.timeout(120)
def test_every_record_has_one_end(tmp_path: Path) -> None:
    """Released, rejected, timed out, killed: each record is accepted once or given up in time."""
    seed = int(os.environ.get("HEADRACE_SEED", random.randrange(1 << 16)))
    plan = Plan(4000, 4, seed, rest_seconds=(0.1, 0.4), lock_seconds=1.0, most_seconds=60)
    outcome = run(plan, tmp_path)
    said = f"HEADRACE_SEED={seed}: {outcome.verdict}\n" + "\n".join(outcome.verdict.faults[:10])
    assert outcome.drained, said
    assert not outcome.verdict.faults, said
    assert outcome.kills >= 1, said
    assert outcome.verdict.accepted > 3000, said


def got(*pairs: tuple[int, int]) -> Entry:
    return Entry(Word.GOT, list(pairs))


def said(*pairs: tuple[int, int]) -> list[Entry]:
    return [Entry(Word.SAY, list(pairs)), Entry(Word.DONE, [(n, 0) for n, _ in pairs])]


def test_the_judge_notices_what_must_not_be() -> None:
    """Loss, two acceptances, a delivery after the end, two holders, one delivery too many."""
    fine = [got((0, 1)), *said((0, ACCEPT))]
    assert not judge(1, gather([fine]), limit=5, kills=0).faults
    stories = {
        "is lost": [[got((0, 1)), *said((0, RELEASE))]],
        "accepted or rejected twice": [fine, [got((0, 2)), *said((0, ACCEPT))]],
        "delivered again after it was done": [fine, [got((0, 2))]],
        "held by two at a time": [fine, [got((0, 1))]],
        "delivered too often": [[got((0, 6)), *said((0, ACCEPT))]],
    }
    for fault, lives in stories.items():
        faults = judge(1, gather(lives), limit=5, kills=0).faults
        assert any(fault in each for each in faults), (fault, faults)


def test_a_torn_line_is_no_line(tmp_path: Path) -> None:
    """A consumer that is killed while it writes has not said it."""
    path = tmp_path / "1.journal"
    Journal(path).note(Word.GOT, [(1, 1), (2, 1)])
    with path.open("a") as file:
        file.write("say 1:1 2:")
    assert list(read(path)) == [Entry(Word.GOT, [(1, 1), (2, 1)])]
