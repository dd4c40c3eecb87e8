"""What live routes share: threads that wait for records, and the sessions that are open."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from headrace.rest.context import Proxy
from headrace.rest.errors import RestError
from headrace.rest.live.session import Session, Subscription
from headrace.rest.live.showing import Showing
from headrace.rest.v3.access import open_streams
from headrace.rest.v3.asking import BrokerCalls

READ_THREADS: Final = 16
MAX_SESSIONS: Final = 100
"""Each has a client of librdkafka with threads of its own."""
_CLOSE_TIMEOUT_S: Final = 5.0


def read_calls(app: Starlette) -> BrokerCalls:
    """Calls for reads, which may wait: apart from those that ask about the cluster."""
    calls: BrokerCalls | None = getattr(app.state, "read_calls", None)
    if calls is None:
        proxy: Proxy = app.state.proxy
        calls = BrokerCalls(proxy.settings.client_settings(), threads=READ_THREADS, name="reads")
        app.state.read_calls = calls
    return calls


def open_sessions(app: Starlette) -> set[Session]:
    sessions: set[Session] | None = getattr(app.state, "live_sessions", None)
    if sessions is None:
        sessions = app.state.live_sessions = set()
    return sessions


def open_session(connection: HTTPConnection, subscription: Subscription) -> Session:
    """A session that has begun; whoever opens it must close it."""
    app: Starlette = connection.app
    sessions = open_sessions(app)
    if len(sessions) >= MAX_SESSIONS:
        raise RestError(429, 42901, f"{MAX_SESSIONS} clients are reading already: try again later")
    proxy: Proxy = app.state.proxy
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


def stop(app: Starlette) -> None:
    """Ask all that would go on for ever to end: for the moment when the server begins to stop."""
    for session in list(open_sessions(app)):
        session.close()
    for stream in list(open_streams(app)):
        stream.cancel()


def close(app: Starlette) -> None:
    """End every session, so that each has left its group, and let the waiting threads go."""
    sessions = list(open_sessions(app))
    stop(app)
    end = time.monotonic() + _CLOSE_TIMEOUT_S
    for session in sessions:
        session.has_ended.wait(max(0.0, end - time.monotonic()))
    for name in ("read_calls", "broker_calls"):
        calls: BrokerCalls | None = getattr(app.state, name, None)
        if calls is not None:
            calls.close()
