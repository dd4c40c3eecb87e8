"""How long a restart waits."""

from __future__ import annotations

from headrace.pipelines.run.backoff import Backoff


def test_pauses_double_up_to_the_bound() -> None:
    """Also after so many failures that the power alone would overflow."""
    backoff = Backoff(first_s=1, max_s=60)
    assert [backoff.delay_s(n, lambda: 1.0) for n in (1, 2, 3, 6, 7)] == [1, 2, 4, 32, 60]
    assert backoff.delay_s(100_000, lambda: 1.0) == 60


def test_jitter_takes_up_to_a_half() -> None:
    """Pipelines that failed together do not come back together."""
    backoff = Backoff(first_s=8, max_s=60)
    assert backoff.delay_s(1, lambda: 0.0) == 4
    assert backoff.delay_s(1, lambda: 0.5) == 6
