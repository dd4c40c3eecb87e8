"""Where the time of a request goes, by Kafka's stages, and which errors it was answered with.

    STAGE            FROM                            TO
    request queue    its bytes are read              its handler begins: those before it were first
    local            its handler begins              it is answered, or must wait
    remote           it must wait (for records, for  it is answered
                     replicas, for other members)
    throttle         what a quota asked the client to wait afterwards; no part of the total
    response queue   it is answered                  it is its turn on the connection
    response send    it is its turn                  the socket has taken it

A sample is kept as a tuple and looked at only when a hundred have gathered or somebody asks: on the
way of a request there is one append. Quantiles are those of the last minute, from at most two
thousand samples that are evenly spread over it.

Taking times costs a tenth of the smallest produce. So of the two APIs that come by the ten thousand
in a second, Produce and Fetch, only as many are timed as are needed: all of them while there are
few, one of 64 while there are many. Each stands for those that were passed over, in the sums too.
Counts are always exact: requests are counted elsewhere, and so are the errors of these two.
"""

from __future__ import annotations

from collections import Counter
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final, cast

from headrace.broker.net.error_counts import ErrorCounter, error_counter
from headrace.broker.net.request_log import log_request
from headrace.broker.watching.durations import GATHERED, Durations

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.wire.messages.fetch import FetchResponse
    from headrace.wire.messages.produce import ProduceResponse

STAGES: Final = (
    "requestqueuetimems",
    "localtimems",
    "remotetimems",
    "throttletimems",
    "responsequeuetimems",
    "responsesendtimems",
)
THROTTLE: Final = STAGES.index("throttletimems")
TOTAL: Final = "totaltimems"

_WANTED_PER_S: Final = 100
_RAREST: Final = 63
_SAMPLED: Final = ("Produce", "Fetch")


class RequestWatch:
    """The times and errors of one API.

    A request is timed if none of the bits of `mask` are set in its number.
    """

    __slots__ = (
        "_count_errors",
        "_whole",
        "durations",
        "errors",
        "followers",
        "is_logged",
        "mask",
        "name",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.durations = Durations(len(STAGES))
        self.mask = 0
        self.errors: Counter[int] = Counter()
        self.followers: RequestWatch | None = None  # fetches of replicas, apart from consumers'
        self._whole: RequestWatch | None = None  # the watch of which this one is a part
        self.is_logged = False
        self._count_errors: ErrorCounter | None = None

    def of_followers(self) -> RequestWatch:
        """The watch of those requests of this API that come from replicas."""
        if self.followers is None:
            self.followers = RequestWatch(self.name)
            self.followers.is_logged = self.is_logged
            self.followers.durations.weight = self.durations.weight
            self.followers._whole = self
        return self.followers

    def on_answer(self, call: Call, response: object) -> None:
        """The answer to a call is known."""
        call.answered_ns = perf_counter_ns()
        if response is None:
            return
        if self.name in _SAMPLED:
            call.throttle_ms = cast("ProduceResponse | FetchResponse", response).throttle_time_ms
        else:
            count_errors = self._count_errors
            if count_errors is None:
                count_errors = self._count_errors = error_counter(type(response))
            call.throttle_ms = count_errors(response, self.errors)

    def on_sent(self, call: Call, now_ns: int) -> None:
        """The last byte of the answer has left, or there was none to send."""
        began, handled, answered = call.began_ns, call.handled_ns, call.answered_ns
        times = (
            began - call.received_ns,
            handled - began,
            answered - handled,
            call.throttle_ms * 1_000_000,
            call.queued_ns - answered,
            now_ns - call.queued_ns,
        )
        self.durations.samples.append(times)
        if len(self.durations.samples) >= GATHERED:
            self.fold(now_ns)
        if self.is_logged:
            log_request(self, call, times)

    def fold(self, now_ns: int) -> None:
        """Look at what has gathered, and take times more rarely or more often from now on."""
        if self._whole is not None:
            self._whole.fold(now_ns)
            return
        per_second = self.durations.fold(now_ns)
        if self.followers is not None:
            per_second += self.followers.durations.fold(now_ns)
        self.mask = 0
        if self.name in _SAMPLED and not self.is_logged:
            enough = int(per_second * self.durations.weight / _WANTED_PER_S)
            self.mask = min((1 << enough.bit_length()) - 1, _RAREST)
        self.durations.weight = self.mask + 1
        if self.followers is not None:
            self.followers.durations.weight = self.mask + 1
