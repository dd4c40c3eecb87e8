"""Aborted records, spent markers, and producers that must not be forgotten."""

from __future__ import annotations

import pytest

from headrace.errors import ClientFault, Error
from headrace.log import Origin, PartitionLog
from tests.log.compaction.compacting import (
    COMPACT,
    DAY_MS,
    Pair,
    carry_out,
    compact,
    headers,
    keyed,
    plan_for,
    what_is_there,
    write,
)
from tests.log.logs import NOW_MS, append, files, marker, new_disk, new_log, reopened


def compacted_log() -> PartitionLog:
    return new_log(new_disk(), COMPACT)


def send(
    log: PartitionLog, producer_id: int, sequence: int, *pairs: Pair, transactional: bool = True
) -> None:
    append(
        log,
        keyed(
            *pairs,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            transactional=transactional,
        ),
    )


def end(log: PartitionLog, producer_id: int, *, commit: bool) -> int:
    return append(
        log, marker(commit=commit, producer_id=producer_id), origin=Origin.COORDINATOR
    ).base_offset


def markers(log: PartitionLog) -> list[tuple[int, int | None]]:
    """Offsets and delete horizons of the control batches that still have their record."""
    return [
        (header.base_offset, header.delete_horizon_ms)
        for header in headers(log)
        if header.is_control and header.record_count
    ]


def data(log: PartitionLog) -> list[tuple[int, bytes | None, bytes | None]]:
    control = {header.base_offset for header in headers(log) if header.is_control}
    return [each for each in what_is_there(log) if each[0] not in control]


def forget_producers(log: PartitionLog) -> None:
    log.producers.expire(NOW_MS + 10 * DAY_MS, 1)


def test_aborted_records_go_and_replace_nothing() -> None:
    """An aborted value does not supersede the committed one before it."""
    log = compacted_log()
    write(log, (b"k", b"kept"))
    send(log, 1, 0, (b"k", b"aborted"), (b"other", b"aborted"))
    end(log, 1, commit=False)
    send(log, 2, 0, (b"j", b"replaced"), (b"i", b"committed"))
    send(log, 2, 2, (b"j", b"committed"))
    end(log, 2, commit=True)
    compact(log)
    assert data(log) == [(0, b"k", b"kept"), (5, b"i", b"committed"), (6, b"j", b"committed")]


def test_transactions_that_overlap_are_told_apart() -> None:
    """Records belong to a transaction by their producer, not by where they stand."""
    log = compacted_log()
    send(log, 1, 0, (b"a", b"aborted"))
    send(log, 2, 0, (b"a", b"committed"))
    send(log, 1, 1, (b"b", b"aborted"))
    end(log, 1, commit=False)
    send(log, 1, 2, (b"b", b"second, committed"))
    send(log, 2, 1, (b"c", b"committed"))
    end(log, 2, commit=True)
    end(log, 1, commit=True)
    compact(log)
    assert [value for _, _, value in data(log)] == [
        b"committed",
        b"second, committed",
        b"committed",
    ]


@pytest.mark.parametrize("commit", [False, True])
def test_a_marker_outlives_its_records_by_the_retention(commit: bool) -> None:
    """KIP-534: it stays while records of its transaction were there, then `delete.retention.ms`."""
    log = compacted_log()
    send(log, 1, 0, (b"k", b"in the transaction"))
    at = end(log, 1, commit=commit)
    write(log, (b"k", b"newer"))
    forget_producers(log)
    compact(log)
    assert markers(log) == [(at, None)], "its records were met"
    assert data(log) == [(2, b"k", b"newer")]

    write(log, (b"x", b"1"))
    compact(log)
    assert markers(log) == [(at, NOW_MS + DAY_MS)], "they are gone, the wait begins"

    write(log, (b"x", b"2"))
    compact(log, NOW_MS + DAY_MS - 1)
    assert markers(log) == [(at, NOW_MS + DAY_MS)]
    write(log, (b"x", b"3"))
    compact(log, NOW_MS + DAY_MS)
    assert markers(log) == []


def test_the_index_names_an_aborted_transaction_as_long_as_its_marker_does() -> None:
    """A reader that is told of the abort later than of the records still gets to know it."""
    log = compacted_log()
    send(log, 1, 0, (b"k", b"aborted"))
    end(log, 1, commit=False)
    write(log, (b"z", b"1"))
    forget_producers(log)
    compact(log)
    assert [each.producer_id for each in log.aborted_transactions(0, 10)] == [1]
    assert files(log.disk, ".txnindex") == [f"{0:020d}.txnindex"]
    reread = reopened(log.disk, COMPACT, clean=False)
    assert reread.aborted_transactions(0, 10) == log.aborted_transactions(0, 10)
    write(log, (b"z", b"2"))
    compact(log)
    assert log.aborted_transactions(0, 10) == []


def test_an_abort_behind_the_compacted_part_counts() -> None:
    """The marker may lie in a segment that is not compacted yet; the records go all the same."""
    log = compacted_log()
    write(log, (b"k", b"kept"))
    send(log, 1, 0, (b"k", b"aborted"))
    log.roll()
    end(log, 1, commit=False)
    carry_out(log, plan_for(log))
    assert data(log) == [(0, b"k", b"kept")]
    assert [each.producer_id for each in log.aborted_transactions(0, 10)] == [1]


def test_a_later_round_knows_the_transactions_before_it() -> None:
    """The walk through the dirty part begins in the middle of a transaction."""
    log = compacted_log()
    write(log, (b"k", b"kept"))
    send(log, 1, 0, (b"a", b"aborted"))
    log.roll()
    send(log, 1, 1, (b"k", b"aborted"))
    end(log, 1, commit=False)
    send(log, 1, 2, (b"a", b"committed"))
    end(log, 1, commit=True)
    log.roll()
    log.clean_offset = 2
    carry_out(log, plan_for(log))
    assert data(log) == [(0, b"k", b"kept"), (4, b"a", b"committed")]


@pytest.mark.parametrize("transactional", [False, True])
def test_sequences_survive(transactional: bool) -> None:
    """Of an active producer the last batch stays, without records, and the next one is accepted
    after a restart that has nothing but the log."""
    log = compacted_log()
    for sequence in range(3):
        send(log, 1, sequence, (b"k", b"%d" % sequence), transactional=transactional)
    if transactional:
        end(log, 1, commit=True)
    write(log, (b"k", b"of another"))
    compact(log)
    assert data(log) == [(4 if transactional else 3, b"k", b"of another")]
    last = [header for header in headers(log) if header.producer_id == 1 and not header.is_control]
    assert [(header.last_sequence, header.record_count) for header in last] == [(2, 0)]
    log.close()
    for name in files(log.disk, ".snapshot"):
        log.disk.remove(f"{log.folder}/{name}")
    restarted = reopened(log.disk, COMPACT, clean=False)
    with pytest.raises(ClientFault) as fault:
        send(restarted, 1, 9, (b"k", b"v"), transactional=transactional)
    assert fault.value.error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    send(restarted, 1, 3, (b"k", b"v"), transactional=transactional)


def test_a_forgotten_producer_keeps_nothing() -> None:
    """Once its state has expired the empty batch goes as well."""
    log = compacted_log()
    send(log, 1, 0, (b"k", b"v"), transactional=False)
    write(log, (b"k", b"w"))
    compact(log)
    assert headers(log)[0].record_count == 0
    forget_producers(log)
    write(log, (b"x", b"1"))
    compact(log)
    assert all(header.record_count for header in headers(log))


def test_the_epoch_of_a_producer_that_wrote_nothing_survives() -> None:
    """A marker that is all the log knows of a producer keeps fencing its predecessor."""
    log = compacted_log()
    append(log, marker(commit=False, producer_id=1, epoch=5), origin=Origin.COORDINATOR)
    for i in range(3):
        write(log, (b"x", b"%d" % i))
        compact(log, NOW_MS + i * 2 * DAY_MS)
    kept = [header for header in headers(log) if header.is_control]
    assert [(header.producer_epoch, header.record_count) for header in kept] == [(5, 0)]


def test_control_records_of_other_kinds_stay() -> None:
    """What the log does not understand it does not remove."""
    log = compacted_log()
    leader_change = keyed((b"\0\0\0\2", b""), control=True)
    append(log, leader_change, origin=Origin.COORDINATOR)
    write(log, (b"x", b"1"))
    compact(log)
    assert markers(log) == [(0, None)]


def test_an_abort_in_the_clean_part_says_nothing_about_later_records() -> None:
    """The next transaction of the same producer was committed, and its record is the newest."""
    log = compacted_log()
    write(log, (b"k", b"old"))
    send(log, 1, 0, (b"x", b"aborted"))
    end(log, 1, commit=False)
    compact(log)
    send(log, 1, 1, (b"k", b"new"))
    end(log, 1, commit=True)
    compact(log)
    assert data(log) == [(3, b"k", b"new")]
