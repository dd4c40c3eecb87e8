"""What the broker did, as numbers. The core and the handlers count; nobody formats here.

Counting is a plain `+=` on an attribute, whether or not anybody looks. Times are taken only while
`timed`: somebody scrapes them, or wants to read them in the request log.
"""

from __future__ import annotations

import logging
from collections import Counter
from time import perf_counter_ns

from headrace.broker.net.request_times import RequestWatch
from headrace.broker.watching import logs


class ApiTally:
    """The requests of one API in one version."""

    __slots__ = ("bytes_in", "key", "name", "requests", "version", "watch")

    def __init__(self, key: int, name: str, version: int) -> None:
        self.key = key
        self.name = name
        self.version = version
        self.requests = 0
        self.bytes_in = 0
        self.watch: RequestWatch | None = None


class Reporter:
    """Counters of one broker since its start."""

    __slots__ = (
        "bytes_out",
        "connections_accepted",
        "connections_refused",
        "fetch_errors",
        "follower_fetches",
        "frames_refused",
        "logs_requests",
        "produce_errors",
        "tallies",
        "timed",
        "watches",
    )

    def __init__(self) -> None:
        self.tallies: dict[tuple[int, int], ApiTally] = {}  # by API key and version
        self.watches: dict[int, RequestWatch] = {}  # by API key
        self.timed = False
        self.logs_requests = False
        # Of the two APIs whose handlers look at every partition anyway, by error code.
        self.produce_errors: Counter[int] = Counter()
        self.fetch_errors: Counter[int] = Counter()
        self.follower_fetches = 0
        self.bytes_out = 0
        self.connections_accepted = 0
        self.connections_refused = 0
        self.frames_refused = 0

    def tally(self, key: int, name: str, version: int) -> ApiTally:
        """Where the requests of an API in one version are counted."""
        tally = self.tallies.get((key, version))
        if tally is None:
            tally = self.tallies[key, version] = ApiTally(key, name, version)
            if self.timed:
                self._watch(tally)
        return tally

    def take_times(self) -> None:
        """From now on every request is timed."""
        self.timed = True
        for tally in self.tallies.values():
            self._watch(tally)

    def _watch(self, tally: ApiTally) -> None:
        watch = self.watches.get(tally.key)
        if watch is None:
            watch = self.watches[tally.key] = RequestWatch(tally.name)
            watch.is_logged = self.logs_requests
        tally.watch = watch

    def follow_request_log(self) -> None:
        """The levels of loggers may have changed: log each request if that is wanted."""
        self.logs_requests = logs.REQUESTS.isEnabledFor(logging.DEBUG)
        if self.logs_requests and not self.timed:
            self.take_times()
        for watch in self.watches.values():
            watch.is_logged = self.logs_requests
            if watch.followers is not None:
                watch.followers.is_logged = self.logs_requests
            watch.fold(perf_counter_ns())  # all are timed while all are logged
