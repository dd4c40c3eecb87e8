"""Exactly-once under kill -9: consume, transform and produce while broker and clients die.

A short run of `python -m tests.chaos.exactly_once`, which goes on for as long as one likes.
`HEADRACE_SEED` repeats the nemesis' choices; `HEADRACE_CHAOS_SECONDS` makes the run longer.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.chaos.exactly_once.brokers import victim
from tests.chaos.exactly_once.run import Plan, run
from tests.chaos.exactly_once.values import balance, echo_value, output_value
from tests.chaos.history.check import summary

SECONDS = float(os.environ.get("HEADRACE_CHAOS_SECONDS", "18"))
REST_SECONDS = (0.5, 2.5)
LEAST_STRIKES = 6
LEAST_INPUTS = 300


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 240)
@pytest.mark.parametrize(
    "protocol", ["consumer", pytest.param("classic", marks=pytest.mark.thorough)]
)
@pytest.mark.spec("slides:E06", "slides:E08", "slides:E10", "admin:TX-04", "admin:TX-05")
@pytest.mark.spec("book2:O-03", "book2:O-08", "book2:O-10", "book2:O-11", "book2:O-13")
def test_exactly_once_under_kills(tmp_path: Path, protocol: str) -> None:
    """Every input has one output and no Jepsen anomaly shows, whoever is killed when."""
    seed = int(os.environ.get("HEADRACE_SEED", random.randrange(1 << 32)))
    journals = tmp_path / "journals"
    journals.mkdir()
    plan = Plan(SECONDS, seed, protocol, rest_seconds=REST_SECONDS, least_strikes=LEAST_STRIKES)
    verdict = run(victim("headrace", tmp_path / "data"), journals, plan)
    said = f"HEADRACE_SEED={seed}, journals in {journals}\n{verdict.last_words}"
    assert verdict.ledger.inputs >= LEAST_INPUTS, said
    assert verdict.ledger.balanced, f"{verdict.ledger}\n{said}"
    assert not verdict.findings, f"{summary(verdict.findings)}\n{said}"


def test_the_ledger_notices_loss_and_repetition() -> None:
    """An input without output, one with two, and an output of nothing are told apart."""
    inputs = ["feeder-0.1.0", "feeder-0.1.1", "feeder-0.1.2"]
    once = [output_value(value, "worker-0.1", at) for at, value in enumerate(inputs)]
    assert balance(inputs, once).balanced
    assert balance(inputs, once[1:]).missing == ["feeder-0.1.0"]
    again = output_value("feeder-0.1.1", "worker-1.1", 7)
    assert balance(inputs, [*once, again]).doubled == ["feeder-0.1.1"]
    assert balance(inputs[1:], once).doubled == ["feeder-0.1.0"]


def test_echoes_end() -> None:
    """Some inputs go round once more, an echo never: a drained input stays drained."""
    assert echo_value("feeder-0.1.8", "worker-0.1", 3) == "worker-0.1.e3"
    assert echo_value("feeder-0.1.9", "worker-0.1", 4) is None
    assert echo_value("worker-0.1.e3", "worker-0.1", 5) is None
