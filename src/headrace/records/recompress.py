"""A batch in another codec, for topics whose `compression.type` is not `producer`.

Only the payload changes its coat: the records, their deltas and times and the producer's fields are
the same bytes before and after, so nothing is parsed.
"""

from __future__ import annotations

from headrace.errors import CorruptData
from headrace.records.batch import CODEC_MASK, BatchHeader, seal
from headrace.records.compression import Codec, compress
from headrace.records.record import MAX_PAYLOAD_BYTES, count_records, read_payload


def recompress(
    header: BatchHeader,
    view: memoryview,
    codec: Codec,
    level: int | None = None,
    max_bytes: int = MAX_PAYLOAD_BYTES,
) -> bytes:
    """The batch at `view` with its records compressed by `codec` at `level`."""
    payload = read_payload(header, view, max_bytes)
    if not count_records(payload, header.record_count):
        raise CorruptData(
            f"the batch at offset {header.base_offset} does not hold exactly "
            f"{header.record_count} records"
        )
    attributes = header.attributes & ~CODEC_MASK | codec
    return seal(header._replace(attributes=attributes), compress(codec, payload, level))
