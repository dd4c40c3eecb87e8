"""InitProducerId (key 22): an identity for an idempotent or transactional producer (KIP-98).

Version 6 (two-phase commit, KIP-939) is not stable in Kafka 4.3 and has no declaration here."""

from __future__ import annotations

from ..schema import request, response, v
from ..types import Int16, Int32, Int64


@request(key=22, versions="0-5", flexible=2)
class InitProducerIdRequest:
    """A new producer id, or the next epoch of a transactional one.

    v2 flexible · v3 a producer may resume with the id and epoch it has (KIP-360) · v4
    PRODUCER_FENCED may come back (KIP-588) · v5 TRANSACTION_ABORTABLE may (KIP-890)
    """

    transactional_id: str | None
    transaction_timeout_ms: Int32
    producer_id: Int64 = v(3, default=-1)
    producer_epoch: Int16 = v(3, default=-1)


@response(key=22, versions="0-5", flexible=2)
class InitProducerIdResponse:
    """The id and epoch to put into every batch. v2 flexible."""

    throttle_time_ms: Int32 = 0
    error_code: Int16
    producer_id: Int64 = -1
    producer_epoch: Int16
