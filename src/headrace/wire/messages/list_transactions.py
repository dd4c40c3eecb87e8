"""ListTransactions (key 66): the transactional ids that a broker looks after (KIP-664)."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Int16, Int32, Int64


@request(key=66, versions="0-2", flexible=0)
class ListTransactionsRequest:
    """All transactional ids, or those that pass every filter; an empty filter keeps all.

    v1 those that run for longer than some milliseconds (KIP-994) · v2 those whose id matches a
    regular expression (KIP-1152)
    """

    state_filters: list[str]
    producer_id_filters: list[Int64]
    duration_filter: Int64 = v(1, default=-1)
    transactional_id_pattern: str | None = v(2, default=None)


@response(key=66, versions="0-2", flexible=0)
class ListTransactionsResponse:
    """The transactional ids, and which of the states asked for do not exist."""

    throttle_time_ms: Int32 = 0
    error_code: Int16
    unknown_state_filters: list[str]
    transaction_states: list[TransactionState]


@struct
class TransactionState:
    """One transactional id."""

    transactional_id: str
    producer_id: Int64
    transaction_state: str
