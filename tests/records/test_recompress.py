from __future__ import annotations

import pytest

from headrace.records.batch import HEADER_SIZE, TimestampType, check_batch
from headrace.records.compression import Codec
from headrace.records.recompress import recompress
from headrace.records.record import read_payload
from tests.records.samples import NOW_MS, RECORDS, batch_of, opened, read_all


@pytest.mark.spec("admin:LS-25")
@pytest.mark.parametrize("source", list(Codec))
@pytest.mark.parametrize("target", list(Codec))
def test_only_the_codec_changes(source: Codec, target: Codec) -> None:
    """A topic's codec replaces the producer's; records, times and producer fields stay."""
    batch = batch_of(
        RECORDS,
        compression=source,
        producer_id=3,
        producer_epoch=1,
        base_sequence=8,
        transactional=True,
        base_offset=50,
        leader_epoch=2,
    )
    before, view = opened(batch)
    changed = recompress(before, read_payload(before, view), target)
    after, view = opened(changed)
    check_batch(view, after)
    assert after.compression is target
    assert read_all(changed) == read_all(batch)
    assert after[6:] == before[6:]
    assert (after.base_offset, after.partition_leader_epoch) == (50, 2)
    assert after.is_transactional
    if target is Codec.NONE:
        assert changed[HEADER_SIZE:] == batch_of(RECORDS)[HEADER_SIZE:]


def test_level() -> None:
    """The topic's level is used."""
    batch = batch_of([*RECORDS] * 20)
    header, view = opened(batch)
    payload = read_payload(header, view)
    fast = recompress(header, payload, Codec.ZSTD, -100)
    small = recompress(header, payload, Codec.ZSTD, 19)
    assert len(small) < len(fast)
    assert read_all(small) == read_all(batch)


def test_log_append_time_stays() -> None:
    """A batch stamped with the broker's time keeps it."""
    batch = batch_of(RECORDS, timestamp_type=TimestampType.LOG_APPEND_TIME)
    header, view = opened(batch)
    changed = recompress(header, read_payload(header, view), Codec.GZIP)
    assert {record.timestamp for record in read_all(changed)} == {NOW_MS + 3}
