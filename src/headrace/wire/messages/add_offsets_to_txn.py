"""AddOffsetsToTxn (key 25): a group whose offsets a transaction is about to commit (KIP-98)."""

from __future__ import annotations

from ..schema import request, response
from ..types import Int16, Int32, Int64


@request(key=25, versions="0-4", flexible=3)
class AddOffsetsToTxnRequest:
    """The group; its partition of the offsets topic becomes part of the transaction.

    v1 throttled after the answer (KIP-219) · v2 PRODUCER_FENCED may come back (KIP-588) · v3
    flexible · v4 TRANSACTION_ABORTABLE may come back (KIP-890)
    """

    transactional_id: str
    producer_id: Int64
    producer_epoch: Int16
    group_id: str


@response(key=25, versions="0-4", flexible=3)
class AddOffsetsToTxnResponse:
    """Whether TxnOffsetCommit may follow. v3 flexible."""

    throttle_time_ms: Int32 = 0
    error_code: Int16
