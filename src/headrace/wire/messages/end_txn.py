"""EndTxn (key 26): commit or abort a transaction (KIP-98)."""

from __future__ import annotations

from ..schema import request, response, v
from ..types import Bool, Int16, Int32, Int64


@request(key=26, versions="0-5", flexible=3)
class EndTxnRequest:
    """The decision of the producer.

    v1 throttled after the answer (KIP-219) · v2 PRODUCER_FENCED may come back (KIP-588) · v3
    flexible · v4 TRANSACTION_ABORTABLE may come back (KIP-890) · v5 every end raises the epoch, and
    the answer says to what (KIP-890)
    """

    transactional_id: str
    producer_id: Int64
    producer_epoch: Int16
    committed: Bool


@response(key=26, versions="0-5", flexible=3)
class EndTxnResponse:
    """The decision is kept; markers follow.

    v3 flexible · v5 id and epoch for the next transaction, -1 beside an error (KIP-890)
    """

    throttle_time_ms: Int32 = 0
    error_code: Int16
    producer_id: Int64 = v(5, default=-1)
    producer_epoch: Int16 = v(5, default=-1)
