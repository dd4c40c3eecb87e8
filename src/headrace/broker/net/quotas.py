"""Quotas at work: what a request costs its client, and for how long its connection is muted.

`active` is False while nobody is limited, and is all that the hot path asks. Otherwise every call
has an `Account` from its arrival to its answer. When the answer leaves, what was used is charged;
if that is too much, the answer says for how long to wait, leaves at once, and the broker reads
nothing more from that connection until then (KIP-219). Each broker enforces the quotas by itself,
with what it sees: a client of three brokers may use its quota three times, as with Kafka.

What is too much, and how long to wait, is decided in `headrace.quotas`.
"""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final, TypeVar

from headrace.cluster.client_quotas import all_quotas, entity_of, quota_values
from headrace.cluster.image import ConfigChanged
from headrace.errors import ClientFault, Error
from headrace.quotas.accounts import MutationAccounts, RateAccounts
from headrace.quotas.limits import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Entity,
    Limits,
)
from headrace.quotas.rates import QuotaWindow

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.broker.net.handler import Working
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.cluster.image import Change, ClusterImage
    from headrace.runtime.clock import Clock

T = TypeVar("T")

_PRODUCE: Final = 0
_ADD_PARTITIONS_TO_TXN: Final = 24
_BETWEEN_BROKERS_SINCE: Final = 4
# WriteTxnMarkers and the state of share groups: only brokers ask for these.
_BETWEEN_BROKERS: Final = frozenset({27, 83, 84, 85, 86, 87})
_CLIENT_KEYS: Final = (
    PRODUCER_BYTE_RATE,
    CONSUMER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    CONTROLLER_MUTATION_RATE,
)
# The defaults of old, which a stored quota overrules.
_STATIC_DEFAULTS: Final = {
    PRODUCER_BYTE_RATE: "quota.producer.default",
    CONSUMER_BYTE_RATE: "quota.consumer.default",
}
_ANY_CLIENT: Final[Entity] = (("client-id", None),)
# Time is limited in hundredths of one thread; the broker has one.
_PERCENT_PER_NS: Final = 100 / 1_000_000_000


class Account:
    """What one call has used so far."""

    __slots__ = (
        "_ns",
        "_resumed_ns",
        "is_exempt",
        "is_settled",
        "key",
        "mutations_ms",
        "quotas",
        "request_bytes",
    )

    def __init__(self, quotas: Quotas, key: int, request_bytes: int, *, is_exempt: bool) -> None:
        self.quotas = quotas
        self.key = key
        self.request_bytes = request_bytes
        self.is_exempt = is_exempt
        self.is_settled = False
        self.mutations_ms = 0
        self._ns = 0
        self._resumed_ns = 0  # 0 while the call waits
        self.resume()

    def resume(self) -> None:
        """The call is being worked on."""
        self._resumed_ns = self.quotas.timer_ns()

    def pause(self) -> None:
        """The call waits, or is done."""
        self._ns = self.spent_ns
        self._resumed_ns = 0

    @property
    def spent_ns(self) -> int:
        """For how long it has kept the broker busy."""
        running = self._resumed_ns
        return self._ns + (self.quotas.timer_ns() - running if running else 0)

    def settle(self, call: Call, response: object) -> None:
        """The call is answered, or needs no answer: charge for it, and tell how long to wait."""
        if not self.is_settled:
            self.quotas.settle(call, self, response)


class Quotas:
    """See the module. The counters are for whoever reports them."""

    def __init__(
        self,
        config: BrokerConfig,
        image: ClusterImage,
        clock: Clock,
        timer_ns: Callable[[], int] = perf_counter_ns,
    ) -> None:
        window = QuotaWindow(
            config.get_int("quota.window.num"), config.get_int("quota.window.size.seconds") * 1000
        )
        changes = QuotaWindow(
            config.get_int("controller.quota.window.num"),
            config.get_int("controller.quota.window.size.seconds") * 1000,
        )
        self.limits = Limits()
        self._file = {
            key: float(config.get_int(name))
            for key, name in _STATIC_DEFAULTS.items()
            if config.is_set(name)
        }
        self.produce = RateAccounts(PRODUCER_BYTE_RATE, self.limits, window)
        self.fetch = RateAccounts(CONSUMER_BYTE_RATE, self.limits, window)
        self.request = RateAccounts(
            REQUEST_PERCENTAGE, self.limits, window, longest_ms=window.size_ms
        )
        self.mutation = MutationAccounts(self.limits, changes)
        self.timer_ns = timer_ns
        self.throttled: Counter[str] = Counter()  # requests, by kind of quota
        self.throttle_ms: Counter[str] = Counter()  # what they were told to wait, by kind
        self.exempt_ns = 0  # time of requests that no quota concerns
        self._clock = clock
        self.active = False
        self._put(_ANY_CLIENT, {})
        for entity, values in all_quotas(image):
            self._put(entity, values)
        self._refresh()

    def on_changes(self, changes: Sequence[Change]) -> None:
        """The cluster has changed: quotas hold from now on, or not any more."""
        for change in changes:
            if isinstance(change, ConfigChanged) and (entity := entity_of(change.owner)):
                self._put(entity, quota_values(change.configs))
        self._refresh()

    def _put(self, entity: Entity, values: Mapping[str, float]) -> None:
        if entity == _ANY_CLIENT:
            values = {**self._file, **values}
        self.limits.put(entity, values)

    def _refresh(self) -> None:
        self.active = any(key in self.limits for key in _CLIENT_KEYS)

    # -- a call from its arrival to its answer ----------------------------------------------------

    def open_account(self, call: Call, key: int, request_bytes: int) -> Account:
        """A request has arrived while quotas are active."""
        is_exempt = key in _BETWEEN_BROKERS or (
            key == _ADD_PARTITIONS_TO_TXN and call.version >= _BETWEEN_BROKERS_SINCE
        )
        account = call.account = Account(self, key, request_bytes, is_exempt=is_exempt)
        return account

    def settle(self, call: Call, account: Account, response: object) -> None:
        """See `Account.settle`."""
        account.is_settled = True
        if account.is_exempt:
            self.exempt_ns += account.spent_ns
            return
        waits = {CONTROLLER_MUTATION_RATE: account.mutations_ms}
        if account.key == _PRODUCE:
            waits[PRODUCER_BYTE_RATE] = self._charge(self.produce, call, account.request_bytes)
        if response is not None:
            waits[REQUEST_PERCENTAGE] = self._charge(
                self.request, call, account.spent_ns * _PERCENT_PER_NS
            )
        wait_ms = self._mute(call, waits)
        if wait_ms and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = wait_ms

    def on_fetched(self, call: Call, size: int) -> int:
        """A client is about to get so many bytes of records.

        0: it gets them. Otherwise it is told this time to wait, in an answer without records, and
        is muted; they are not counted.
        """
        user, client_id, now_ms = self._who(call)
        waits = {REQUEST_PERCENTAGE: 0}
        if call.account is not None:
            call.account.is_settled = True
            used = call.account.spent_ns * _PERCENT_PER_NS
            waits[REQUEST_PERCENTAGE] = self._charge(self.request, call, used)
        waits[CONSUMER_BYTE_RATE] = self.fetch.charge_unless_over(user, client_id, size, now_ms)
        if waits[REQUEST_PERCENTAGE] and not waits[CONSUMER_BYTE_RATE]:
            self.fetch.give_back(user, client_id, size, now_ms)
        return self._mute(call, waits)

    def most_fetched(self, call: Call) -> float:
        """Bytes of records that a fetch should ask for at most."""
        return self.fetch.portion(*self._who(call))

    def exempt(self, call: Call) -> None:
        """This one is another broker's: no quota concerns it."""
        if call.account is not None:
            call.account.is_exempt = True

    def _charge(self, accounts: RateAccounts, call: Call, amount: float) -> int:
        user, client_id, now_ms = self._who(call)
        return accounts.charge(user, client_id, amount, now_ms)

    def _who(self, call: Call) -> tuple[str, str, int]:
        return call.connection.principal, call.client_id or "", self._clock.monotonic_ms()

    def _mute(self, call: Call, waits: dict[str, int]) -> int:
        """Mute the connection for the longest of these; it counts for the quota that demands it."""
        key, wait_ms = max(waits.items(), key=lambda item: item[1])
        if wait_ms:
            self.throttled[key] += 1
            self.throttle_ms[key] += wait_ms
            call.throttle_ms = wait_ms
            call.connection.mute(wait_ms)
        return wait_ms

    # -- changes of topics (KIP-599) --------------------------------------------------------------

    def mutations(self, call: Call, *, strict_since: int | None) -> Mutations:
        """The partitions that a request will create or delete; None has no error for too many."""
        is_strict = strict_since is not None and call.version >= strict_since
        return Mutations(self, call, is_strict=is_strict)

    def on_mutations(self, call: Call, count: int, *, is_strict: bool) -> int:
        """A client changes so many partitions: the time to wait, of which its answer will tell.

        THROTTLING_QUOTA_EXCEEDED if it must wait first; clients of old do not know that error, and
        wait afterwards.
        """
        user, client_id, now_ms = self._who(call)
        wait_ms = self.mutation.charge(user, client_id, count, now_ms, is_strict=is_strict)
        if wait_ms and call.account is not None:
            call.account.mutations_ms = max(call.account.mutations_ms, wait_ms)
        if wait_ms and is_strict:
            raise ClientFault(
                Error.THROTTLING_QUOTA_EXCEEDED,
                f"The throttling quota has been exceeded. Try again in {wait_ms} ms.",
            )
        return wait_ms


class Mutations:
    """What one request changes: each topic is charged once, however often it is decided on."""

    def __init__(self, quotas: Quotas, call: Call, *, is_strict: bool) -> None:
        self._quotas = quotas
        self._call = call
        self._is_strict = is_strict
        self._outcomes: dict[str, ClientFault | None] = {}

    def charge(self, topic: str, count: int) -> None:
        """So many partitions of a topic come or go; THROTTLING_QUOTA_EXCEEDED if they must not."""
        if not self._quotas.active:
            return
        if topic not in self._outcomes:
            self._outcomes[topic] = None
            try:
                self._quotas.on_mutations(self._call, count, is_strict=self._is_strict)
            except ClientFault as fault:
                self._outcomes[topic] = fault
        refused = self._outcomes[topic]
        if refused is not None:
            raise refused


@types.coroutine
def timed(work: Working[T], account: Account) -> Generator[object, object, T]:
    """A coroutine whose time on the event loop counts for an account; its waiting does not."""
    step: Callable[[], object] = partial(work.send, None)
    while True:
        account.resume()
        try:
            awaited = step()
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            account.pause()
        try:
            step = partial(work.send, (yield awaited))
        except BaseException as fault:
            step = partial(work.throw, fault)
