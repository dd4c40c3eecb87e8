"""What changes or drops events between a source and its channels, in the order of their list.

    a1.sources.r1.interceptors = i1 i2
    a1.sources.r1.interceptors.i1.type = timestamp
    a1.sources.r1.interceptors.i2.type = mine.py:shout

One of your own is a function of an event that gives an event or None, or a class that is made with
its settings and called with events.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from typing import Final, TypeAlias

from headrace.errors import ConfigError
from headrace.java.regex import compile_java
from headrace.pipelines.lake.flume.event import Event
from headrace.pipelines.lake.jobs.named import find
from headrace.pipelines.lake.jobs.properties import Properties
from headrace.runtime.clock import Clock

Interceptor: TypeAlias = Callable[[Event], Event | None]
GROUP: Final = "headrace.flume"
_HERE: Final = "headrace.pipelines.lake.flume.interceptors:"
BUILT_IN: Final = {
    "timestamp": _HERE + "timestamp",
    "TimestampInterceptor": _HERE + "timestamp",
    "host": _HERE + "host",
    "HostInterceptor": _HERE + "host",
    "static": _HERE + "static",
    "StaticInterceptor": _HERE + "static",
    "regex_filter": _HERE + "regex_filter",
    "RegexFilteringInterceptor": _HERE + "regex_filter",
}


def interceptor(settings: Properties, clock: Clock) -> Interceptor:
    """The interceptor that these settings describe."""
    name = settings.required("type", "the kind of the interceptor, as timestamp")
    found = find(name, settings.shown("type"), BUILT_IN, GROUP)
    made: Interceptor = found
    if found in _FACTORIES:
        made = found(settings, clock)
    elif isinstance(found, type):
        made = found(settings)
    return made


def timestamp(settings: Properties, clock: Clock) -> Interceptor:
    """The time at which the event came, in milliseconds."""
    header = settings.text("headerName", settings.text("header", "timestamp"))
    keep = settings.flag("preserveExisting", False)
    return lambda event: _with(event, header, str(clock.now_ms()), keep=keep)


def host(settings: Properties, _clock: Clock) -> Interceptor:
    """The address of this machine, or with useIP=false its name."""
    name = socket.gethostname()
    if settings.flag("useIP", True):
        try:
            name = socket.gethostbyname(name)
        except OSError:
            pass  # a machine that cannot look itself up has its name
    header = settings.text("hostHeader", "host")
    keep = settings.flag("preserveExisting", False)
    return lambda event: _with(event, header, name, keep=keep)


def static(settings: Properties, _clock: Clock) -> Interceptor:
    """The same header for all events."""
    header, value = settings.text("key", "key"), settings.text("value", "value")
    keep = settings.flag("preserveExisting", True)
    return lambda event: _with(event, header, value, keep=keep)


def regex_filter(settings: Properties, _clock: Clock) -> Interceptor:
    """Only events whose body has a match, or with excludeEvents=true only those that have none."""
    try:
        pattern = compile_java(settings.text("regex", ".*"))
    except (ValueError, re.error) as fault:
        raise ConfigError(f"{settings.shown('regex')} is {settings['regex']!r}: {fault}") from None
    excludes = settings.flag("excludeEvents", False)

    def filtered(event: Event) -> Event | None:
        matches = pattern.search(event.body.decode(errors="replace")) is not None
        return event if matches is not excludes else None

    return filtered


_FACTORIES: Final = (timestamp, host, static, regex_filter)


def _with(event: Event, header: str, value: str, *, keep: bool) -> Event:
    if keep and header in event.headers:
        return event
    return event.but(headers={**event.headers, header: value})
