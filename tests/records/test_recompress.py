from __future__ import annotations

import pytest

from headrace.errors import CorruptData
from headrace.records.batch import HEADER_SIZE, TimestampType, check_batch, seal
from headrace.records.compression import Codec
from headrace.records.recompress import recompress
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
    changed = recompress(before, view, target)
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
    fast = recompress(header, view, Codec.ZSTD, -100)
    small = recompress(header, view, Codec.ZSTD, 19)
    assert len(small) < len(fast)
    assert read_all(small) == read_all(batch)


def test_log_append_time_stays() -> None:
    """A batch stamped with the broker's time keeps it."""
    batch = batch_of(RECORDS, timestamp_type=TimestampType.LOG_APPEND_TIME)
    changed = recompress(*opened(batch), Codec.GZIP)
    assert {record.timestamp for record in read_all(changed)} == {NOW_MS + 3}


def test_wrong_count_is_not_passed_on() -> None:
    """A batch that lies about its records is found out when it is opened."""
    batch = batch_of(RECORDS)
    header, _ = opened(batch)
    lying = seal(header._replace(record_count=6, last_offset_delta=5), batch[HEADER_SIZE:])
    with pytest.raises(CorruptData, match="exactly 6 records"):
        recompress(*opened(lying), Codec.LZ4)


def test_bomb() -> None:
    """The limit holds here too."""
    batch = batch_of(RECORDS, compression=Codec.ZSTD)
    with pytest.raises(CorruptData, match="limit of 1000 bytes"):
        recompress(*opened(batch), Codec.NONE, max_bytes=1000)
