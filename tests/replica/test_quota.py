"""Replication quotas: a rate over eleven windows, and the replicas that it holds back."""

from __future__ import annotations

import pytest

from headrace.replica import ReplicationQuota, ThrottledReplicas


def test_a_rate_is_counted_over_eleven_seconds() -> None:
    """What was copied counts against ten full windows at least, and is forgotten after eleven."""
    quota = ReplicationQuota(1_000)
    quota.record(10_000, 0)
    assert quota.allows(0)
    quota.record(1, 500)
    assert not quota.allows(999)
    assert quota.rate(999) == pytest.approx(1_000.1)
    assert quota.allows(10_999)
    quota.record(5_000, 11_000)
    assert quota.rate(11_000) == pytest.approx(500)


def test_a_quota_that_is_not_set_allows_everything() -> None:
    """The default is no limit, and limits can be changed while bytes are counted."""
    quota = ReplicationQuota()
    quota.record(1 << 50, 0)
    assert quota.allows(0)
    quota.bytes_per_second = 1
    assert not quota.allows(0)


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("", []),
        ("*", [(0, 1), (0, 2), (1, 1)]),
        ("0:1,1:1", [(0, 1), (1, 1)]),
        (" 0:2 , 0:1", [(0, 1), (0, 2)]),
    ],
)
def test_which_replicas_are_throttled(text: str, covered: list[tuple[int, int]]) -> None:
    """`*` means all; otherwise pairs of partition and broker."""
    replicas = ThrottledReplicas(text)
    every = [(0, 1), (0, 2), (1, 1)]
    assert [pair for pair in every if replicas.covers(*pair)] == covered


@pytest.mark.parametrize("text", ["0", "0:", ":1", "a:b", "0:1,", "0:1;1:1", "-1:0"])
def test_a_list_that_is_none_is_refused(text: str) -> None:
    """The error names the pair and the form."""
    with pytest.raises(ValueError, match="partition:broker"):
        ThrottledReplicas(text)
