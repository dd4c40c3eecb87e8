"""UnregisterBroker (key 64): let a KRaft cluster forget a broker that will not come back."""

from __future__ import annotations

from ..schema import request, response
from ..types import Int16, Int32


@request(key=64, versions="0", flexible=0)
class UnregisterBrokerRequest:
    """The broker to forget; flexible from v0 on."""

    broker_id: Int32


@response(key=64, versions="0", flexible=0)
class UnregisterBrokerResponse:
    """Whether it was forgotten."""

    throttle_time_ms: Int32 = 0
    error_code: Int16
    error_message: str | None
