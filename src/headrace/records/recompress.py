"""A batch in another codec, for topics whose `compression.type` is not `producer`.

Only the payload changes its coat: the records, their deltas and times and the producer's fields are
the same bytes before and after, so nothing is parsed. What the records are worth is for
`headrace.records.inspection`.
"""

from __future__ import annotations

from headrace.records.batch import CODEC_MASK, BatchHeader, seal
from headrace.records.compression import Codec, compress
from headrace.types import Buffer


def recompress(
    header: BatchHeader, payload: Buffer, codec: Codec, level: int | None = None
) -> bytes:
    """The batch of this header and uncompressed `payload`, compressed by `codec` at `level`."""
    attributes = header.attributes & ~CODEC_MASK | codec
    return seal(header._replace(attributes=attributes), compress(codec, payload, level))
