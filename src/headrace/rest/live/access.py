"""Opening a session for a reader: how many there may be, and how their consumers are set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace.rest.call import Call
from headrace.rest.context import Proxy
from headrace.rest.errors import RestError
from headrace.rest.live.session import Session, Subscription
from headrace.rest.live.showing import Showing

MAX_SESSIONS: Final = 100
"""Each has a client of librdkafka with threads of its own."""


def open_session(call: Call, subscription: Subscription) -> Session:
    """A session that has begun; whoever opens it must close it."""
    sessions = call.service.sessions
    if len(sessions) >= MAX_SESSIONS:
        raise RestError(429, 42901, f"{MAX_SESSIONS} clients are reading already: try again later")
    proxy = call.proxy
    properties = _properties(proxy, subscription)
    session = Session(properties, subscription, Showing(subscription.formats, proxy.serdes))
    sessions.add(session)
    session.start(on_end=sessions.discard)
    return session


def _properties(proxy: Proxy, subscription: Subscription) -> Mapping[str, Any]:
    from headrace.rest.librdkafka import consumer_properties

    return {
        **consumer_properties(proxy.settings.kafka, proxy.settings.consumer),
        "isolation.level": subscription.isolation_level,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        # What a slow reader may leave in memory.
        "queued.max.messages.kbytes": 1024,
        "queued.min.messages": 1000,
        "fetch.queue.backoff.ms": 10,
    }
